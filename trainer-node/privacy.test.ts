import { decodeParameters } from "./codec/parameters.ts";
import { type Node, startNode } from "./node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 1 });
});
afterAll(() => node.stop());

interface Trained {
  parameters: string;
  metrics: Record<string, number>;
}

async function train(config: object): Promise<Trained> {
  const body = JSON.stringify({ dataset: "digits", config: { seed: 3, ...config } });
  const response = await fetch(`${node.url}/train`, { method: "POST", body });
  expect(response.status).toBe(200);
  return (await response.json()) as Trained;
}

const valuesOf = ({ parameters }: Trained) =>
  decodeParameters(Buffer.from(parameters, "base64")).tensors.flatMap(({ data }) => Array.from(data as Float32Array));
const lengthOf = (left: readonly number[], right: readonly number[]) =>
  Math.sqrt(left.reduce((sum, value, index) => sum + (value - (right[index] ?? 0)) ** 2, 0));

test("noise_multiplier adds noise of clip_norm times itself to every number of the clipped update", async () => {
  const clipped = valuesOf(await train({ clip_norm: 0.5 }));
  const noised = await train({ clip_norm: 0.5, noise_multiplier: 4 });
  // 650 numbers of deviation 2: the length is 2 · sqrt(650) to within five standard errors, about 1.4 each.
  expect(Math.abs(lengthOf(valuesOf(noised), clipped) - 2 * Math.sqrt(clipped.length))).toBeLessThan(7.1);
  expect(noised.metrics).toEqual({ noise_deviation: 2, duration_ms: expect.any(Number) });
});

test("a caller who knows the seed does not know the noise", async () => {
  const [first, second] = [await train({ clip_norm: 1, noise_multiplier: 1 }), await train({ clip_norm: 1, noise_multiplier: 1 })];
  expect(first.parameters).not.toBe(second.parameters);
});

test("a multiplier of 0 changes nothing", async () => {
  expect((await train({ noise_multiplier: 0 })).parameters).toBe((await train({})).parameters);
});
