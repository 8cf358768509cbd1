import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDigits, splitDigits } from "../datasets/digits.ts";
import { GENERATED, type GeneratedName } from "../datasets/generated.ts";
import { pickRows, type RowsData, rowsOf } from "../datasets/rows.ts";
import { syntheticDevice } from "../datasets/synthetic.ts";
import { createRandom } from "../random.ts";
import { convolution } from "./network/convolution.ts";
import { dense } from "./network/dense.ts";
import { embedding } from "./network/embedding.ts";
import type { LayerSpec } from "./network/layer.ts";
import { type Loss, logisticLoss, softmaxLoss, squaredLoss } from "./network/loss.ts";
import { createNetwork } from "./network/network.ts";
import { maxPool } from "./network/pool.ts";
import { relu } from "./network/relu.ts";
import { findTask, TASKS } from "./registry.ts";
import type { Samples } from "./samples.ts";
import type { TrainSettings } from "./task.ts";

const digits = parseDigits(readFileSync(join(__dirname, "../datasets/digits.txt"), "utf8"));
const SETTINGS: TrainSettings = { epochs: 1, batchSize: 10, learningRate: 0.1, seed: 1, optimizer: "sgd", momentum: 0.9, mu: 0 };
const ignore = () => {};
const generated = (name: GeneratedName): { train: RowsData; test: RowsData } => {
  const rows = GENERATED[name].make();
  const range = (start: number, end: number) => Int32Array.from({ length: end - start }, (_, index) => start + index);
  return { train: pickRows(rows, range(0, 800)), test: pickRows(rows, range(800, rowsOf(rows))) };
};
/** Enough to learn something from; a text is as many samples as it has bytes. */
const few = ({ train, test: held }: { train: RowsData; test: RowsData }) => ({
  train: pickRows(
    train,
    Int32Array.from({ length: 80 }, (_, row) => row),
  ),
  test: pickRows(
    held,
    Int32Array.from({ length: 20 }, (_, row) => row),
  ),
});
const DIGITS = {
  train: { kind: "labelled", dataset: splitDigits(digits, "train") },
  test: { kind: "labelled", dataset: splitDigits(digits, "test") },
} as const;

describe("gradients", () => {
  const random = createRandom(5, 99);
  const numbers = (count: number) => Float32Array.from({ length: count }, () => random.normal());
  const features: Samples = {
    rows: 3,
    columns: 16,
    classes: 3,
    features: numbers(48),
    labels: Int32Array.of(0, 2, 1),
    targets: numbers(3),
  };
  const binary: Samples = { ...features, classes: 2, labels: Int32Array.of(0, 1, 1) };
  const tokens: Samples = {
    rows: 2,
    columns: 0,
    classes: 3,
    labels: Int32Array.of(2, 0),
    tokens: { ids: Int32Array.of(1, 4, 4, 0), starts: Int32Array.of(0, 2, 4) },
  };
  const cases: [string, Samples, Loss, LayerSpec[]][] = [
    ["dense and relu", features, softmaxLoss, [dense("a", { inputs: 16, outputs: 5 }), relu(5), dense("b", { inputs: 5, outputs: 3 })]],
    [
      "convolution and pool",
      features,
      softmaxLoss,
      [
        convolution("c", { height: 4, width: 4, channels: 1 }, 2),
        relu(32),
        maxPool({ height: 4, width: 4, channels: 2 }),
        convolution("d", { height: 2, width: 2, channels: 2 }, 3),
        dense("b", { inputs: 12, outputs: 3 }),
      ],
    ],
    ["squared error", features, squaredLoss, [dense("a", { inputs: 16, outputs: 1 })]],
    ["logistic", binary, logisticLoss, [dense("a", { inputs: 16, outputs: 1 })]],
    [
      "bag of embeddings",
      tokens,
      softmaxLoss,
      [embedding("e", { entries: 5, width: 4, deviation: 1 }, { bag: true }), dense("b", { inputs: 4, outputs: 3 })],
    ],
    [
      "sequence of embeddings",
      tokens,
      softmaxLoss,
      [embedding("e", { entries: 5, width: 4, deviation: 1 }, { bag: false, length: 2 }), dense("b", { inputs: 8, outputs: 3 })],
    ],
  ];

  test.each(cases)("%s: a step of gradient descent goes where differences say", (_name, samples, loss, layers) => {
    const meanLoss = (tensors: ReturnType<ReturnType<typeof createNetwork>["tensors"]>): number => {
      let total = 0;
      createNetwork({ layers, loss, start: { tensors } }).run(samples, (outputs, { rows }) => {
        const { labels = new Int32Array(0), targets = new Float32Array(0) } = samples;
        total += loss.gradient(outputs, { rows, width: layers.at(-1)?.outputs ?? 1, labels, targets });
      });
      return total / samples.rows;
    };
    const network = createNetwork({ layers, loss, start: { seed: 3 } });
    const before = network.tensors();
    const rate = 1;
    network.train(samples, { ...SETTINGS, learningRate: rate, batchSize: samples.rows }, ignore);
    const after = network.tensors();
    let checked = 0;
    before.forEach((tensor, index) => {
      for (let at = 0; at < tensor.data.length; at += Math.max(1, Math.floor(tensor.data.length / 6))) {
        const moved = (step: number) =>
          before.map((other, place) =>
            place === index
              ? { ...other, data: Float32Array.from(other.data, (value, element) => (element === at ? value + step : value)) }
              : other,
          );
        const slope = (meanLoss(moved(0.01)) - meanLoss(moved(-0.01))) / 0.02;
        const taken = ((before[index]?.data[at] ?? 0) - (after[index]?.data[at] ?? 0)) / rate;
        expect(Math.abs(taken - slope)).toBeLessThan(0.01 * Math.max(1, Math.abs(slope)));
        checked++;
      }
    });
    expect(checked).toBeGreaterThan(6);
  });

  test.each(["momentum", "adam"] as const)("%s learns faster than it began, and the proximal term holds the weights back", (optimizer) => {
    const task = findTask("mlp");
    const open = () => task.open({ tensors: undefined, data: DIGITS.train, options: { hidden: [16] }, single: false, seed: 1 });
    const rate = optimizer === "adam" ? 0.003 : 0.02;
    const distance = (mu: number) => {
      const learner = open();
      const start = learner.tensors();
      learner.train(DIGITS.train, { ...SETTINGS, optimizer, learningRate: rate, mu, epochs: 2 }, ignore);
      if (mu === 0) expect(learner.score(DIGITS.test).accuracy).toBeGreaterThan(0.8);
      return learner.tensors().reduce((sum, { data }, index) => {
        const from = start[index]?.data as Float32Array;
        return (
          sum +
          Float64Array.from(data as Float32Array, (value, at) => (value - (from[at] as number)) ** 2).reduce(
            (total, value) => total + value,
            0,
          )
        );
      }, 0);
    };
    expect(distance(10)).toBeLessThan(distance(0) / 2);
  });
});

describe("every task learns, round-trips and predicts", () => {
  test.each<[string, { train: RowsData; test: RowsData }, Partial<TrainSettings>, number]>([
    ["softmax", DIGITS, { epochs: 3, learningRate: 0.3 }, 0.9],
    ["linear", generated("line"), { epochs: 5, learningRate: 0.05 }, 0.99],
    ["logistic", generated("moons"), { epochs: 10, learningRate: 0.5 }, 0.8],
    ["mlp", generated("moons"), { epochs: 30, learningRate: 0.3 }, 0.97],
    ["mlp", DIGITS, { epochs: 5, learningRate: 0.1 }, 0.93],
    ["cnn", DIGITS, { epochs: 3, learningRate: 0.1 }, 0.93],
    ["text_classifier", generated("topics"), { epochs: 5, learningRate: 3 }, 0.98],
    ["text_embedding", generated("topics"), { epochs: 10, learningRate: 1 }, 0.98],
    ["byte_lm", few(generated("topics")), { epochs: 3, learningRate: 0.2, batchSize: 32 }, 0.3],
  ])("%s", (name, { train, test: held }, settings, least) => {
    const task = findTask(name);
    const options = { buckets: 2048, dimensions: 16, filters: 4 };
    const open = (tensors?: ReturnType<ReturnType<typeof task.open>["tensors"]>) =>
      task.open({ tensors, data: train, options, single: false, seed: 4 });
    const epochs: number[] = [];
    const learner = open();
    const before = learner.score(held);
    learner.train(train, { ...SETTINGS, ...settings }, ({ epoch }) => epochs.push(epoch));
    const after = learner.score(held);
    expect(after.accuracy).toBeGreaterThan(least);
    expect(after.loss).toBeLessThan(before.loss ?? Number.NaN);
    expect(epochs).toEqual(Array.from({ length: settings.epochs ?? 1 }, (_, epoch) => epoch + 1));
    const again = open(learner.tensors());
    // Softmax computes in float64 and sends float32: its loss may differ in the ninth digit.
    expect(again.score(held)).toEqual({ accuracy: after.accuracy, loss: expect.closeTo(after.loss ?? Number.NaN, 6) });
    const some = pickRows(held, Int32Array.of(0, 1, 2));
    expect(learner.predict(some)).toHaveLength(3);
    if (name !== "softmax") expect(again.predict(some)).toEqual(learner.predict(some));
    const twin = open();
    twin.train(train, { ...SETTINGS, ...settings }, ignore);
    expect(twin.tensors()).toEqual(learner.tensors());
  });

  test("texts of one topic have nearer vectors than texts of two", () => {
    const { train } = generated("topics");
    const learner = findTask("text_embedding").open({
      tensors: undefined,
      data: train,
      options: { buckets: 2048 },
      single: false,
      seed: 1,
    });
    learner.train(train, { ...SETTINGS, epochs: 5, learningRate: 1 }, ignore);
    const ask = ["a baker bakes fresh bread today", "the cook salts the soup at last", "a sailor repairs an old boat again"];
    const data: RowsData = { kind: "texts", rows: 3, texts: ask, labels: new Int32Array(3), labeled: false, classes: 2 };
    const [bread = [], soup = [], boat = []] = learner.predict(data).map((prediction) => ("vector" in prediction ? prediction.vector : []));
    const cosine = (left: readonly number[], right: readonly number[]) =>
      left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
    expect(cosine(bread, soup)).toBeGreaterThan(cosine(bread, boat) + 0.3);
  });

  test("the byte model continues a text it has read often", () => {
    const text = "the tide comes in, the tide goes out";
    const data: RowsData = { kind: "texts", rows: 1, texts: [text], labels: new Int32Array(1), labeled: false, classes: 2 };
    const learner = findTask("byte_lm").open({ tensors: undefined, data, options: { context: 12 }, single: false, seed: 1 });
    learner.train(data, { ...SETTINGS, epochs: 150, learningRate: 0.3 }, ignore);
    expect(learner.predict({ ...data, texts: ["the tide com"] })).toEqual([{ text }]);
  });

  test.each(TASKS.map(({ name }) => name))("%s refuses tensors that are not its own by name", (name) => {
    const task = findTask(name);
    const data = task.rows === "texts" ? generated("topics").train : task.rows === "valued" ? generated("line").train : DIGITS.train;
    const wrong = [
      { name: "other", dtype: "f32", shape: [1], data: new Float32Array(1) } as const,
      { name: "more", dtype: "f32", shape: [1], data: new Float32Array(1) } as const,
    ];
    expect(() => task.open({ tensors: wrong, data, options: { bounds: [0, 1] }, single: false, seed: 1 })).toThrow(
      expect.objectContaining({ kind: "SHAPE_MISMATCH" }),
    );
  });
});

describe("synthetic(α, β)", () => {
  const device = (settings: Partial<Parameters<typeof syntheticDevice>[0]>) =>
    syntheticDevice({ alpha: 1, beta: 1, device: 0, seed: 1, iid: false, ...settings });

  test("is the same for the same numbers, another for another device, and of the size and spread the paper says", () => {
    const first = device({});
    expect(device({})).toEqual(first);
    expect(device({ device: 1 }).features.slice(0, 60)).not.toEqual(first.features.slice(0, 60));
    expect(first).toMatchObject({ columns: 60, classes: 10 });
    const sizes = Array.from({ length: 30 }, (_, index) => device({ device: index }).rows);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(50);
    expect(sizes.toSorted((left, right) => left - right)[15]).toBeGreaterThan(60);
    // Variance of column j is j^-1.2 around its mean.
    const large = Array.from({ length: 30 }, (_, index) => device({ device: index, alpha: 0, beta: 0 })).toSorted(
      (left, right) => right.rows - left.rows,
    )[0];
    const variance = (column: number) => {
      const values = Array.from({ length: large?.rows ?? 0 }, (_, row) => large?.features[row * 60 + column] ?? 0);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    };
    expect(variance(0)).toBeCloseTo(1, 0);
    expect(variance(59) / variance(0)).toBeCloseTo(60 ** -1.2, 2);
  });

  test("the iid variant has one model for all devices, so that what one learns serves the others", () => {
    const learner = findTask("softmax").open({
      tensors: undefined,
      data: { kind: "labelled", dataset: device({ iid: true, device: 2 }) },
      options: {},
      single: false,
      seed: 1,
    });
    for (let index = 0; index < 8; index++)
      learner.train({ kind: "labelled", dataset: device({ iid: true, device: index }) }, { ...SETTINGS, epochs: 10 }, ignore);
    expect(learner.score({ kind: "labelled", dataset: device({ iid: true, device: 20 }) }).accuracy).toBeGreaterThan(0.6);
  });
});
