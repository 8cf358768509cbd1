import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compressionProblems } from "../../common/training/compression-settings.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { compressUpdate } from "../operations/compression.ts";
import { model, openRunFixture, type Script } from "./run-fixture.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

const SIZE = 400;
const START = model(...new Array<number>(SIZE).fill(0));
const compression = { method: "int8" } as const;

/** Every participant moves each number by 1, and compresses as a node does. */
const train: Script["train"] = (_id, { parameters, config }) => {
  const base = readFileSync(join(fixture.blobs.folder, parameters));
  expect(config).toMatchObject({ compress: compression });
  const moved = model(...Array.from(decodeParameters(base).tensors[0]?.data as Float32Array, (value) => value + 1));
  const { tensors } = compressUpdate(
    { base: decodeParameters(base).tensors, after: decodeParameters(moved).tensors, residual: [] },
    compression,
  );
  return { model: encodeParameters(tensors, "safetensors"), samples: 1 };
};

test("updates arrive compressed and are aggregated whole, and the record has both sizes", async () => {
  // The first round of a process loads its aggregation, which takes longer than the usual deadline where the processor is busy.
  const settings = { compression, rounds: 2, deadlineMs: 60_000 };
  const { problem, records, rounds } = await fixture.run(settings, { train }, { initial: START });
  expect(problem).toBeUndefined();
  const values = await fixture.valuesOf(records[1]?.result ?? "");
  expect(values).toHaveLength(SIZE);
  for (const value of values) expect(value).toBeCloseTo(2, 4);
  const { bytes, bytesSent } = records[0]?.compression ?? { bytes: 0, bytesSent: 0 };
  expect(bytes).toBe(2 * START.byteLength);
  expect(bytesSent).toBe(rounds[0]?.participants.reduce((sum, participant) => sum + Number(participant.bytes), 0));
  expect(bytesSent).toBeLessThan(bytes / 2);
  expect(records[0]?.updates.every(({ hash }) => rounds[0]?.participants.some(({ updateBlob }) => updateBlob === hash))).toBe(true);
});

test("an update that is not compressed, or was changed on its way, is that participant's failure", async () => {
  const changed: Script["train"] = (id, task) => (id === "p1" ? train(id, task) : { model: START, samples: 1 });
  const { rounds } = await fixture.run({ compression, minResults: 1 }, { train: changed }, { initial: START });
  expect(rounds[0]?.participants.map(({ state }) => state)).toEqual(["accepted", "failed"]);
  expect(rounds[0]?.participants[1]?.reason).toContain("COMPRESSION: its compression is none, and that of the federation is int8");
});

test("the first round of a federation without parameters is not compressed, and the record says so", async () => {
  const { problem, records } = await fixture.run({ compression }, { train: () => ({ model: START, samples: 1 }) });
  expect([problem, records[0]?.compression?.bytes]).toEqual([undefined, records[0]?.compression?.bytesSent]);
});

test("participants that cannot compress are refused by name", async () => {
  const { problem } = await fixture.run({ compression }, { train }, { initial: START, capabilities: ["clip", "formats"] });
  expect(problem?.message).toContain("Participant p1 (http://p1) cannot compress its updates, as compression needs");
});

test.each([
  [{ secureAggregation: true }, "secureAggregation: masked updates are random numbers"],
  [{ strategy: "fedbuff" }, "the strategy fedbuff"],
  [{ strategy: "scaffold" }, "the strategy scaffold"],
])("%j does not work with compression, and says why", (given, reason) => {
  const settings = federationSettings.parse({ task: "softmax", compression: "float16", ...given });
  expect(settings.compression).toEqual({ method: "float16" });
  expect(compressionProblems(settings)).toEqual([{ path: ["compression"], message: expect.stringContaining(reason) }]);
});

test("a share is a setting of top_k alone", () => {
  const settings = (given: object) => federationSettings.safeParse({ task: "softmax", compression: given });
  expect(settings({ method: "top_k", share: 0.1 }).success).toBe(true);
  expect(settings({ method: "int8", share: 0.1 }).error?.issues[0]?.message).toBe("is a setting of top_k");
});
