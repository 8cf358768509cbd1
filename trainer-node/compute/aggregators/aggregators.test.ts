import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import fc from "fast-check";
import { encodeParameters } from "../../codec/parameters.ts";
import type { Tensor } from "../tensor.ts";
import { aggregateTensors, FIVE, f32, f64, type HarnessInput, SAMPLES } from "./aggregate-harness.ts";
import { AGGREGATORS } from "./gen/aggregators.ts";

const values = (tensors: readonly Tensor[]): number[] => tensors.flatMap(({ data }) => Array.from(data as Float64Array));
const FIVE_CLIENTS = FIVE.map((row) => [f64(row)]);

function run(strategy: string, input: Omit<Partial<HarnessInput>, "strategy"> = {}) {
  return aggregateTensors({ strategy, clients: FIVE_CLIENTS, ...input });
}

function expectClose(actual: readonly number[], expected: readonly number[], digits = 6): void {
  expect(actual).toHaveLength(expected.length);
  for (const [index, value] of actual.entries()) expect(value).toBeCloseTo(expected[index] ?? Number.NaN, digits);
}

/** w0 = [1, 2, 3] and one client whose update is Δ = [0.1, -0.2, 0.3]. */
const W0 = [f64([1, 2, 3])];
const moved = (base: readonly number[]): Tensor[] => [f64([(base[0] ?? 0) + 0.1, (base[1] ?? 0) - 0.2, (base[2] ?? 0) + 0.3])];

/** Two rounds with the same Δ; each client starts from what the round before gave. */
function twoRounds(strategy: string, settings: Record<string, unknown> = {}): number[][] {
  const first = run(strategy, { clients: [moved([1, 2, 3])], base: W0, settings });
  const base = first.tensors;
  const second = run(strategy, { clients: [moved(values(base))], base, settings, state: first.state });
  return [values(first.tensors), values(second.tensors)];
}

describe("closed forms of the reference page", () => {
  test.each(["mean", "fedavg", "fedprox"])("checks 1 and 2: %s is the mean by samples, plain without weights", (strategy) => {
    expect(values(run(strategy, { weights: SAMPLES }).tensors)).toEqual([51.5, -48, 27.5]);
    expect(values(run(strategy).tensors)).toEqual([22, -17.2, 13.6]);
  });

  test("check 3: the median", () => {
    expect(values(run("median").tensors)).toEqual([3, 3, 5]);
    expect(values(run("median", { clients: FIVE_CLIENTS.slice(0, 4) }).tensors)).toEqual([2.5, 3.5, 4.5]);
  });

  test("check 4: the trimmed mean of 0.2", () => {
    expectClose(values(run("trimmed_mean", { settings: { beta: 0.2 } }).tensors), [3, 3, 5], 12);
  });

  test.each([
    [1 / 49, 49, 1],
    [3 / 47, 47, 3],
    [0.29, 100, 29],
    [0.2, 9, 1],
  ])("the trimmed mean of %d cuts of %i clients %i at each end, though the product may be a little less as a float", (beta, count, cut) => {
    const withLiars = (liars: number): Tensor[][] => Array.from({ length: count }, (_, index) => [f64([index < liars ? 1e6 : 1])]);
    const resultOf = (liars: number) => values(run("trimmed_mean", { clients: withLiars(liars), settings: { beta } }).tensors)[0];
    expect(resultOf(cut)).toBeCloseTo(1, 6);
    expect(resultOf(cut + 1)).toBeGreaterThan(1000);
  });

  test("check 5: Krum's scores, and the tie", () => {
    const { tensors, reports } = run("krum", { settings: { f: 1 } });
    expect(reports.map(({ score }) => score)).toEqual([15, 6, 6, 15, 44427]);
    expect(values(tensors)).toEqual([2, 3, 4]);
    expect(reports.map(({ accepted }) => accepted)).toEqual([false, true, false, false, false]);
    expect(reports[4]?.reason).toBe("FAR_FROM_OTHERS");
  });

  test("check 6: multi-Krum of three", () => {
    const { tensors, reports } = run("multi_krum", { settings: { f: 1, m: 3 } });
    expect(reports.map(({ accepted }) => accepted)).toEqual([true, true, true, false, false]);
    expectClose(values(tensors), [2, 3, 4], 12);
  });

  test("check 8: FedAdam, two rounds", () => {
    const [first = [], second = []] = twoRounds("fedadam");
    expectClose(first, [1.090909, 1.904762, 3.096774]);
    expectClose(second, [1.216681, 1.774685, 3.228353]);
  });

  test("FedYogi and FedAdagrad, by hand from algorithm 2 of Reddi 2021", () => {
    // v begins at 0, so that the first v of Yogi is (1-β2)·Δ² as Adam's; in round 2, v < Δ² and it grows by the same again.
    const [yogi1 = [], yogi2 = []] = twoRounds("fedyogi");
    expectClose(yogi1, [1.090909, 1.904762, 3.096774]);
    const yogiStep = (delta: number) => (0.1 * (0.9 * 0.1 * delta + 0.1 * delta)) / (Math.sqrt(2 * 0.01 * delta * delta) + 1e-3);
    expectClose(
      yogi2.map((value, index) => value - (yogi1[index] ?? 0)),
      [0.1, -0.2, 0.3].map(yogiStep),
    );
    const [ada1 = [], ada2 = []] = twoRounds("fedadagrad");
    const adaStep = (delta: number, rounds: number) => (0.1 * delta) / (Math.sqrt(rounds * delta * delta) + 1e-3);
    expectClose(
      ada1,
      [1, 2, 3].map((start, index) => start + adaStep([0.1, -0.2, 0.3][index] ?? 0, 1)),
    );
    expectClose(
      ada2,
      ada1.map((start, index) => start + adaStep([0.1, -0.2, 0.3][index] ?? 0, 2)),
    );
  });

  test("check 11: FedAvgM of 0.9, two rounds", () => {
    expectClose(twoRounds("fedavgm")[1] ?? [], [1.29, 1.42, 3.87]);
  });

  test("check 16: clipping", () => {
    const clip = (limit: number, row: number[]) =>
      values(run("norm_clip", { clients: [[f64(row)]], settings: { clip_norm: limit } }).tensors);
    expectClose(clip(1, [3, 4]), [0.6, 0.8], 12);
    expect(clip(10, [3, 4])).toEqual([3, 4]);
    expect(clip(1, [0, 0])).toEqual([0, 0]);
    const fromBase = run("norm_clip", { clients: [[f64([4, 6])]], base: [f64([1, 2])], settings: { clip_norm: 1 } });
    expectClose(values(fromBase.tensors), [1.6, 2.8], 12);
    expect(fromBase.reports[0]).toMatchObject({ norm: 5, reason: "CLIPPED" });
  });
});

describe("rules from their papers", () => {
  test("FedNova (Wang 2020, eq. 5): clients of unequal steps that go the same way at the same speed move the base by the mean step count", () => {
    // x_i = w + τ_i·d: the plain mean gives Σp·τ·d too; against objectives with one heavy worker it differs, see below.
    const same = run("fednova", { clients: [[f64([2])], [f64([10])]], base: [f64([0])], settings: { steps: [1, 5] } });
    expectClose(values(same.tensors), [6], 12);
    // Two clients that pull to opposite sides with 1 and 9 steps of equal size: FedAvg is dragged to the busy one, FedNova stays in the middle.
    const tug = { clients: [[f64([-1])], [f64([9])]], base: [f64([0])] };
    expectClose(values(run("fedavg", tug).tensors), [4], 12);
    expectClose(values(run("fednova", { ...tug, settings: { steps: [1, 9] } }).tensors), [0], 12);
  });

  test("SCAFFOLD (Karimireddy 2020, eq. 5): x moves by the mean change, c by |S|/N of the mean control change, and the base has c", () => {
    const client = (w: number, c: number) => [f64([w]), f64([c], "control:w")];
    const input = { clients: [client(3, 0.4), client(5, 0.8)], base: client(1, 0), settings: { lr: 0.5, total_clients: 4 } };
    const first = run("scaffold", input);
    expectClose(values(first.tensors), [1 + 0.5 * 3, 0.5 * 0.6], 12);
    const second = run("scaffold", { ...input, base: first.tensors });
    expectClose(values(second.tensors), [2.5 + 0.5 * 1.5, 0.6], 12);
    // Clients that start with a model of their own have no base yet, and c is 0.
    const { base: _none, ...started } = input;
    expectClose(values(run("scaffold", started).tensors), [4, 0.3], 12);
    expect(() => run("scaffold", { base: W0 })).toThrow(
      expect.objectContaining({ kind: "SHAPE_MISMATCH", details: { tensor: "control:w" } }),
    );
  });

  test("q-FedAvg (Li 2020, algorithm 2): q = 0 is the plain mean, and a higher q serves the client of the higher loss", () => {
    const input = { clients: [[f64([1])], [f64([-1])]], base: [f64([0])] };
    expectClose(values(run("qfedavg", { ...input, settings: { q: 0, lr: 1, losses: [1, 5] } }).tensors), [0], 12);
    // q = 1, L = 1: Δ = F·(0 - x), h = 1 + F; w = Σ F·x / Σ (1 + F) = (1·1 - 3·1) / (2 + 4).
    expectClose(values(run("qfedavg", { ...input, settings: { q: 1, lr: 1, losses: [1, 3] } }).tensors), [-2 / 6], 12);
  });

  test("Bulyan (El Mhamdi 2018): seven clients, one liar in one coordinate, as Krum alone would let through", () => {
    const honest = [
      [1, 1],
      [1.1, 1],
      [0.9, 1],
      [1, 1.1],
      [1, 0.9],
      [1.05, 1.05],
    ];
    const liar = [1, 1000];
    const { tensors, reports } = run("bulyan", { clients: [...honest, liar].map((row) => [f64(row)]), settings: { f: 1 } });
    for (const value of values(tensors)) expect(Math.abs(value - 1)).toBeLessThan(0.1);
    expect(reports.at(-1)).toMatchObject({ accepted: false });
    expect(() => run("bulyan", { settings: { f: 1 } })).toThrow(expect.objectContaining({ kind: "TOO_FEW_CLIENTS" }));
    expect(() => run("multi_krum", { settings: { m: 6 } })).toThrow(
      expect.objectContaining({ kind: "TOO_FEW_CLIENTS", details: { setting: "m", clients: 5, needed: 6 } }),
    );
  });

  test("geometric median (Pillutla 2022): on a line it is the median; of a triangle, the point whose angles are all 120 degrees", () => {
    const line = run("geometric_median", { clients: [[f64([0])], [f64([1])], [f64([100])]], settings: { iterations: 1000 } });
    expectClose(values(line.tensors), [1], 2);
    // The Fermat point of (0,0), (1,0), (0,1) lies on the diagonal at (3 - √3)/6.
    const triangle = run("geometric_median", {
      clients: [[f64([0, 0])], [f64([1, 0])], [f64([0, 1])]],
      settings: { iterations: 1000, tolerance: 0 },
    });
    expectClose(values(triangle.tensors), [(3 - Math.sqrt(3)) / 6, (3 - Math.sqrt(3)) / 6], 4);
  });

  test("FLTrust (Cao 2021, eq. 4): cosine to the root, nothing if negative, length of the root", () => {
    const clients = [[f64([2, 0])], [f64([0, 7])], [f64([5, 0])], [f64([-3, 0])], [f64([3, 3])]];
    const { tensors, reports } = run("fltrust", { clients, base: [f64([0, 0])], settings: { root: [1, 0, 0, 0, 0] } });
    // Trust: 0, 1, 0, 1/√2; each accepted one is brought to length 2.
    const [a, b] = [1, Math.SQRT1_2];
    expectClose(values(tensors), [(a * 2 + b * Math.SQRT2) / (a + b), (b * Math.SQRT2) / (a + b)], 12);
    expect(reports.map(({ accepted }) => accepted)).toEqual([true, false, true, false, true]);
    expect(reports[3]).toMatchObject({ reason: "AGAINST_ROOT", score: 0 });
  });

  test("FedAsync (Xie 2019, §5): the polynomial, the hinge and the constant", () => {
    const mix = (settings: Record<string, unknown>) =>
      values(run("fedasync", { clients: [[f64([10])]], base: [f64([0])], settings }).tensors)[0] ?? 0;
    expect(mix({ alpha: 0.6 })).toBeCloseTo(6, 12);
    expect(mix({ alpha: 0.6, staleness: [3] })).toBeCloseTo(6 * 4 ** -0.5, 12);
    expect(mix({ alpha: 0.6, staleness: [6], decay: "hinge", a: 10, b: 4 })).toBeCloseTo(6 / 21, 12);
    expect(mix({ alpha: 0.6, staleness: [6], decay: "constant" })).toBeCloseTo(6, 12);
    const two = run("fedasync", {
      clients: [[f64([10])], [f64([20])]],
      base: [f64([0])],
      settings: { alpha: 0.5, staleness: [0, 1], decay: "constant" },
    });
    expectClose(values(two.tensors), [(0 * 0.5 + 20 * 0.5) * 0.5 + 10 * 0.5], 12);
  });

  test("Yin 2018 in small: with one liar in ten, mean fails and median and trimmed mean hold", () => {
    const clients = Array.from({ length: 9 }, (_, client) => [f64([1 + client / 100])]).concat([[f64([1e6])]]);
    expect(values(run("mean", { clients }).tensors)[0]).toBeGreaterThan(1e4);
    for (const strategy of ["median", "trimmed_mean", "geometric_median", "krum", "multi_krum", "bulyan"]) {
      expect(Math.abs((values(run(strategy, { clients }).tensors)[0] ?? 0) - 1.04)).toBeLessThan(0.06);
    }
  });
});

describe("every strategy", () => {
  const CLIENTS = 9;
  const settingsOf: Record<string, Record<string, unknown>> = {
    fednova: { steps: Array.from({ length: CLIENTS }, (_, client) => client + 1) },
    qfedavg: { losses: Array.from({ length: CLIENTS }, (_, client) => client / 7 + 0.1) },
    fltrust: { root: Array.from({ length: CLIENTS }, (_, client) => (client === 3 ? 1 : 0)) },
    fedasync: { staleness: Array.from({ length: CLIENTS }, (_, client) => client % 4) },
    norm_clip: { clip_norm: 2 },
  };
  /** Values of very different size, so that another order of summation would show in the last digit. */
  const make = (client: number): Tensor[] => {
    const data = Array.from({ length: 5001 }, (_, index) => Math.sin(client * 7919 + index) * 10 ** ((client * 5 + index) % 9));
    return [f32(data), f64(data.slice(0, 77), "wide"), f32(data.slice(0, 5001), "control:w"), f64(data.slice(3, 80), "control:wide")];
  };
  const clients = Array.from({ length: CLIENTS }, (_, client) => make(client));
  const weights = clients.map((_, client) => (client + 1) / 3);
  const digest = (strategy: string, order: readonly number[], memoryBytes: number) => {
    const permute = <T>(list: readonly T[]) => order.map((client) => list[client] as T);
    const settings = Object.fromEntries(
      Object.entries(settingsOf[strategy] ?? {}).map(([name, value]) => [name, Array.isArray(value) ? permute(value) : value]),
    );
    const { tensors, state, reports } = aggregateTensors({
      strategy,
      clients: permute(clients),
      weights: permute(weights),
      settings,
      base: make(99),
      memoryBytes,
    });
    const byClient = order.map((client, place) => [client, reports[place]] as const).toSorted(([left], [right]) => left - right);
    return JSON.stringify([
      encodeParameters(
        [...tensors, ...(state ?? [])].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        "safetensors",
      ),
      byClient,
    ]);
  };

  test.each(AGGREGATORS.map(({ name }) => name))(
    "%s gives the same bytes for any order of clients, in memory and from disk",
    (strategy) => {
      const plain = digest(strategy, [...clients.keys()], 2 ** 30);
      fc.assert(
        fc.property(
          fc.shuffledSubarray([...clients.keys()], { minLength: CLIENTS }),
          fc.constantFrom(0, 150_000, 2 ** 30),
          (order, memoryBytes) => {
            expect(digest(strategy, order, memoryBytes) === plain).toBe(true);
          },
        ),
        { numRuns: 6 },
      );
      expect(readdirSync(tmpdir()).filter((name) => name.startsWith("tributary-aggregate-"))).toEqual([]);
    },
  );

  test.each(AGGREGATORS.filter(({ base }) => base === "required").map(({ name }) => name))(
    "%s without a base is refused by that field",
    (strategy) => {
      const settings = Object.fromEntries(
        Object.entries(settingsOf[strategy] ?? {}).map(([name, value]) => [name, Array.isArray(value) ? value : value]),
      );
      expect(() => run(strategy, { clients, settings })).toThrow(
        expect.objectContaining({ kind: "VALIDATION_ERROR", details: { field: "base" } }),
      );
    },
  );

  test.each([
    ["fedavgm", { momentum: 1 }, "momentum"],
    ["fedadam", { tau: 0 }, "tau"],
    ["fedyogi", { beta2: "0.9" }, "beta2"],
    ["krum", { f: 0.5 }, "f"],
    ["trimmed_mean", { beta: 0.5 }, "beta"],
    ["fednova", {}, "steps"],
    ["fednova", { steps: [1, 2] }, "steps"],
    ["fednova", { steps: [1, 2, 0, 4, 5] }, "steps[2]"],
    ["fedasync", { decay: "slow" }, "decay"],
    ["fltrust", { root: [0, 0, 0, 0, 0] }, "root"],
    ["norm_clip", {}, "clip_norm"],
    ["mean", { beta: 1 }, "beta"],
  ])("%s with %j is refused by the setting's name", (strategy, settings, setting) => {
    expect(() => run(strategy, { settings, base: W0 })).toThrow(
      expect.objectContaining({ kind: "VALIDATION_ERROR", details: { setting } }),
    );
  });

  /** Settings with one value per client, of clients that are there and of those of weight 0 among them. */
  const LISTS: Record<string, (client: number) => number> = {
    steps: (client) => client + 1,
    losses: (client) => client / 7 + 0.1,
    root: (client) => (client === 3 ? 1 : 0),
    staleness: (client) => client % 4,
  };

  test.each(AGGREGATORS.map(({ name }) => name))("%s: clients of weight 0 change nothing but their own reports", (strategy) => {
    const settings = { ...(strategy === "norm_clip" ? { clip_norm: 2 } : {}) };
    const listed = Object.keys(settingsOf[strategy] ?? {}).filter((name) => LISTS[name]);
    const lists = (ids: readonly number[]) => Object.fromEntries(listed.map((name) => [name, ids.map((id) => LISTS[name]?.(id))]));
    const aggregated = (ids: readonly number[]) =>
      aggregateTensors({
        strategy,
        clients: ids.map(make),
        weights: ids.map((id) => (id < CLIENTS ? (id + 1) / 3 : 0)),
        settings: { ...settings, ...lists(ids) },
        base: make(99),
      });
    const here = [...Array(CLIENTS).keys()];
    // More of them than of the others, so that they would decide a median.
    const nobodys = Array.from({ length: CLIENTS + 2 }, (_, index) => CLIENTS + index);
    const mixed = [...nobodys.slice(0, 4), ...here.slice(0, 5), ...nobodys.slice(4), ...here.slice(5)];
    const [alone, among] = [aggregated(here), aggregated(mixed)];
    expect([among.tensors, among.state]).toEqual([alone.tensors, alone.state]);
    expect(mixed.flatMap((id, place) => (id < CLIENTS ? [among.reports[place]] : []))).toEqual(alone.reports);
    for (const [place, id] of mixed.entries())
      if (id >= CLIENTS) expect(among.reports[place]).toMatchObject({ accepted: false, reason: "WEIGHT_ZERO", norm: expect.any(Number) });
  });

  test("clients of weight 0 are not among those that a strategy needs", () => {
    expect(() => run("krum", { weights: [1, 1, 1, 1, 0], settings: { f: 1 } })).toThrow(
      expect.objectContaining({
        kind: "TOO_FEW_CLIENTS",
        message: expect.stringContaining("there are 4, and 1 of weight 0"),
        details: { setting: "f", clients: 4, needed: 5 },
      }),
    );
  });

  test("the root of fltrust is trusted also with weight 0, because it is no part of the mean", () => {
    const clients = [[f64([2, 0])], [f64([0, 7])], [f64([5, 0])], [f64([3, 3])]];
    const input = { clients, base: [f64([0, 0])], settings: { root: [1, 0, 0, 0] } };
    const { tensors, reports } = run("fltrust", { ...input, weights: [0, 1, 1, 0] });
    expectClose(values(tensors), [2, 0], 12);
    expect(reports.map(({ reason }) => reason)).toEqual(["ROOT", "AGAINST_ROOT", undefined, "WEIGHT_ZERO"]);
  });

  test("norms and cosines are of the updates: toward the result 1, against it -1", () => {
    const { reports } = run("mean", { clients: [[f64([4, 0])], [f64([-1, 0])], [f64([0, 0])]], base: [f64([0, 0])] });
    expect(reports).toMatchObject([
      { norm: 4, cosine: 1, accepted: true },
      { norm: 1, cosine: -1, accepted: true },
      { norm: 0, cosine: null, accepted: true },
    ]);
    expect(run("mean", { weights: [1, 1, 1, 1, 0] }).reports[4]).toMatchObject({ accepted: false, reason: "WEIGHT_ZERO" });
  });
});
