import { decodeParameters } from "../codec/parameters.ts";
import { type Node, startNode } from "../node-harness.ts";

const fixture = (name: string) => new URL(`./__fixtures__/${name}.ts`, `file://${__filename}`).href;

let node: Node;
let built: Node;
let lacking: Node;
beforeAll(async () => {
  node = await startNode({ functionsUrl: fixture("adding"), threads: 1 });
  lacking = await startNode({ functionsUrl: fixture("functions"), threads: 1 });
  built = await startNode({ threads: 1 });
});
afterAll(() => Promise.all([node.stop(), lacking.stop(), built.stop()]));

interface Answer {
  readonly parameters: string;
  readonly num_samples?: number;
  readonly metrics: Record<string, number>;
  readonly code?: string;
}

async function train({ url }: Node, body: object) {
  const response = await fetch(`${url}/v1/train`, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer };
}

const able = async ({ url }: Node) => ((await (await fetch(`${url}/v1/info`)).json()) as { capabilities: object }).capabilities;
const valuesOf = ({ parameters }: Answer, tensor = 0) =>
  Array.from(decodeParameters(Buffer.from(parameters, "base64")).tensors[tensor]?.data as Float32Array);
const untrained = { config: { untrained: true, seed: 7, clip_norm: 1 }, format: "safetensors" };

test("a train call for untrained parameters calls the initial function, and says that nothing was trained", async () => {
  const { status, body } = await train(node, untrained);
  expect([status, valuesOf(body), body.metrics["untrained"], body.num_samples]).toEqual([200, [0, 0, 0, 0], 1, undefined]);
  expect(await able(node)).toMatchObject({ initial: true, steps: false });
});

test("without an initial function it is refused, and the node does not declare it", async () => {
  expect(await train(lacking, untrained)).toMatchObject({ status: 501, body: { code: "NOT_REGISTERED" } });
  expect(await able(lacking)).toMatchObject({ initial: false });
});

test("a built-in task answers with its new model: that of the seed and the shape of the data, whatever is in them", async () => {
  const rows = (value: number) => ({
    ...untrained,
    config: { ...untrained.config, task: "mlp", hidden: [3] },
    dataset: { x: [[value, 0]], y: [1] },
  });
  const [one, other] = [await train(built, rows(1)), await train(built, rows(-5))];
  expect([one.status, one.body.metrics["untrained"], one.body.num_samples]).toEqual([200, 1, undefined]);
  expect(valuesOf(one.body, 1)).toHaveLength(6);
  expect(other.body.parameters).toBe(one.body.parameters);
  const seeded = await train(built, { ...rows(1), config: { ...rows(1).config, seed: 8 } });
  expect(seeded.body.parameters).not.toBe(one.body.parameters);
  expect(await able(built)).toMatchObject({ initial: true, steps: true });
});

test("a call with parameters asks for no new model", async () => {
  const { body } = await train(node, untrained);
  for (const asked of [node, built])
    expect(await train(asked, { ...untrained, dataset: "digits", parameters: body.parameters })).toMatchObject({
      status: 422,
      body: { code: "VALIDATION_ERROR", error: expect.stringContaining("config.untrained") },
    });
});
