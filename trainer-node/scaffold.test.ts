import { decodeParameters, encodeParameters } from "./codec/parameters.ts";
import type { FloatTensor } from "./compute/tensor.ts";
import { type Node, startNode } from "./node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 1 });
});
afterAll(() => node.stop());

interface Answer {
  parameters: string;
  state?: string;
  code?: string;
  error?: string;
  warnings?: string[];
}

async function post(path: string, body: object): Promise<{ status: number; body: Answer }> {
  const response = await fetch(node.url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer };
}
const tensorsOf = (text: string | undefined) =>
  Object.fromEntries(
    decodeParameters(Buffer.from(text ?? "", "base64")).tensors.map((tensor) => [tensor.name, [...(tensor as FloatTensor).data]]),
  );
const pack = (tensors: Record<string, { shape: number[]; values: number[] }>) =>
  Buffer.from(
    encodeParameters(
      Object.entries(tensors).map(([name, { shape, values }]) => ({ name, dtype: "f64", shape, data: Float64Array.from(values) })),
      "safetensors",
    ),
  ).toString("base64");

/** Two clients whose best lines differ, and whose data bend the loss differently: plain averaging settles in the wrong place. */
const CLIENTS = [
  { x: [[1], [2]], y: [1, 5] },
  { x: [[0], [4]], y: [-1, -9] },
];
const config = { task: "linear", epochs: 10, batch_size: 2, lr: 0.05, seed: 1 };

/** The least squares line through all points, by the normal equations. */
function bestLine(): [number, number] {
  const points = CLIENTS.flatMap(({ x, y }) => x.map(([value = 0], index) => [value, y[index] as number] as const));
  const sum = (of: (x: number, y: number) => number) => points.reduce((total, [x, y]) => total + of(x, y), 0);
  const [n, sx, sy, sxx, sxy] = [points.length, sum((x) => x), sum((_, y) => y), sum((x) => x * x), sum((x, y) => x * y)];
  const slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return [slope, (sy - slope * sx) / n];
}

async function federate(scaffold: boolean, rounds: number): Promise<[number, number]> {
  let parameters: string | undefined;
  let serverState: string | undefined;
  const states: (string | undefined)[] = CLIENTS.map(() => undefined);
  for (let round = 0; round < rounds; round++) {
    const trained: string[] = [];
    for (const [client, dataset] of CLIENTS.entries()) {
      const { status, body } = await post("/train", {
        parameters,
        dataset,
        config: { ...config, scaffold },
        state: states[client],
        format: "safetensors",
      });
      expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
      trained.push(body.parameters);
      states[client] = body.state;
    }
    const base = parameters ?? (await start(scaffold));
    const strategy = scaffold ? { name: "scaffold" } : { name: "fedavg" };
    const { status, body } = await post("/aggregate", { parameters_list: trained, strategy, base, state: serverState });
    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
    parameters = body.parameters;
    serverState = body.state;
  }
  const { "linear.weight": weight = [], "linear.bias": bias = [] } = tensorsOf(parameters);
  return [weight[0] ?? Number.NaN, bias[0] ?? Number.NaN];
}

/** The fresh model of the seed, found by taking a step of nearly no length. */
async function start(scaffold: boolean): Promise<string> {
  const { body } = await post("/train", {
    dataset: CLIENTS[0],
    config: { ...config, epochs: 1, lr: 1e-30, scaffold },
    format: "safetensors",
  });
  const all = decodeParameters(Buffer.from(body.parameters, "base64")).tensors as FloatTensor[];
  return Buffer.from(
    encodeParameters(
      all.map((tensor) => (tensor.name.startsWith("control:") ? { ...tensor, data: tensor.data.map(() => 0) } : tensor)),
      "safetensors",
    ),
  ).toString("base64");
}

test("clients that drift apart meet at the optimum of all data with control variates, and not without", async () => {
  const best = bestLine();
  const [slope, offset] = await federate(true, 60);
  expect(Math.hypot(slope - best[0], offset - best[1])).toBeLessThan(0.01);
  const [plainSlope, plainOffset] = await federate(false, 60);
  expect(Math.hypot(plainSlope - best[0], plainOffset - best[1])).toBeGreaterThan(0.1);
}, 60_000);

test.each([
  ["softmax", [2, 2], ["weight", "bias"]],
  ["logistic", [2, 1], ["logistic.weight", "logistic.bias"]],
])(
  "after one step of %s the client's control is the gradient itself, whatever the controls were before",
  async (task, shape, [weight = "", bias = ""]) => {
    const dataset = {
      x: [
        [1, 2],
        [0, 1],
        [3, 1],
      ],
      y: [0, 1, 1],
    };
    const size = shape[0] as number;
    const classes = shape[1] as number;
    const model = {
      [weight]: { shape, values: Array.from({ length: size * classes }, (_, index) => 0.1 * index) },
      [bias]: { shape: [classes], values: Array.from({ length: classes }, () => 0.2) },
    };
    const random = (scale: number, prefix: string) =>
      Object.fromEntries(
        Object.entries(model).map(([name, { shape: of, values }]) => [
          prefix + name,
          { shape: of, values: values.map((_, index) => scale * Math.cos(index + 1)) },
        ]),
      );
    const run = (parameters: string, state?: string) =>
      post("/train", { parameters, state, dataset, config: { task, epochs: 1, batch_size: 3, lr: 0.25, scaffold: true } });
    const plain = await run(pack(model));
    const corrected = await run(pack({ ...model, ...random(0.7, "control:") }), pack(random(-0.3, "")));
    const [gradient, own] = [tensorsOf(plain.body.state), tensorsOf(corrected.body.state)];
    for (const name of [weight, bias]) {
      expect((gradient[name] ?? []).some((value) => Math.abs(value) > 1e-3)).toBe(true);
      for (const [index, value] of (own[name] ?? []).entries()) expect(value).toBeCloseTo(gradient[name]?.[index] as number, 5);
      // What goes to the server is the change of it.
      const changes = tensorsOf(corrected.body.parameters)[`control:${name}`] ?? [];
      expect([changes.length, own[name]?.length]).toEqual([gradient[name]?.length, gradient[name]?.length]);
      for (const [index, change] of changes.entries())
        expect(change).toBeCloseTo((gradient[name]?.[index] as number) + 0.3 * Math.cos(index + 1), 5);
    }
  },
);

test("a caller that sums the changes gets the same training, without a state", async () => {
  const dataset = { x: [[1], [2]], y: [1, 5] };
  const model = { "linear.weight": { shape: [1, 1], values: [0.5] }, "linear.bias": { shape: [1], values: [0.1] } };
  const named = (prefix: string, scale: number) =>
    Object.fromEntries(Object.entries(model).map(([name, { shape }]) => [prefix + name, { shape, values: [scale] }]));
  const parameters = { ...model, ...named("control:", 0.3) };
  const [summed, carried] = [
    await post("/train", {
      dataset,
      config: { ...config, scaffold: "change" },
      parameters: pack({ ...parameters, ...named("own_control:", -0.2) }),
    }),
    await post("/train", { dataset, config: { ...config, scaffold: true }, parameters: pack(parameters), state: pack(named("", -0.2)) }),
  ];
  expect([summed.status, summed.body.state, carried.body.state]).toEqual([200, undefined, expect.any(String)]);
  expect(tensorsOf(summed.body.parameters)).toEqual(tensorsOf(carried.body.parameters));
});

test("loss_before is the loss of the parameters on the rows, before they are trained", async () => {
  const dataset = { x: [[1], [2]], y: [1, 5] };
  const parameters = pack({ "linear.weight": { shape: [1, 1], values: [0] }, "linear.bias": { shape: [1], values: [0] } });
  const loss = async (body: object) => ((await post("/train", { dataset, parameters, ...body })).body as { metrics?: object }).metrics;
  const exact = await loss({ config: { ...config, lr: 1e-30 } });
  expect(await loss({ config: { ...config, loss_before: true } })).toMatchObject({ loss_before: (exact as { loss: number }).loss });
  expect(await loss({ config })).not.toHaveProperty("loss_before");
});

test("parameters that SCAFFOLD has made can be evaluated, and trained without it, which is said", async () => {
  const dataset = {
    x: [
      [1, 2],
      [0, 1],
    ],
    y: [0, 1],
  };
  const { body } = await post("/train", { dataset, config: { scaffold: true }, format: "npz" });
  expect((await post("/evaluate", { dataset, parameters: body.parameters })).status).toBe(200);
  const plain = await post("/train", { dataset, parameters: body.parameters });
  expect(plain.body.warnings).toEqual(["control variates ignored: config.scaffold is not set"]);
  expect(Object.keys(tensorsOf(plain.body.parameters)).toSorted()).toEqual(["bias", "weight"]);
});

test.each<[string, object, string]>([
  ["another optimizer", { config: { scaffold: true, task: "mlp", optimizer: "adam" } }, "requires the optimizer sgd"],
  ["noise", { config: { scaffold: true, clip_norm: 1, noise_multiplier: 1 } }, "cannot be combined with noise_multiplier"],
  ["npy", { config: { scaffold: true }, format: "npy" }, "npy has no room"],
  ["a state of other shapes", { config: { scaffold: true }, state: pack({ weight: { shape: [1], values: [1] } }) }, "state: tensor"],
  ["a state of other tensors", { config: { scaffold: true }, state: pack({ other: { shape: [1], values: [1] } }) }, 'no tensor "other"'],
])("%s is a 422 that says why", async (_name, body, why) => {
  const answer = await post("/train", {
    dataset: {
      x: [
        [1, 2],
        [0, 1],
      ],
      y: [0, 1],
    },
    ...body,
  });
  expect(answer.status).toBe(422);
  expect(answer.body.error).toContain(why);
});
