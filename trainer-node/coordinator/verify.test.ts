import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../common/logger.ts";
import { NO_RECORD, type RoundRecord, roundRecordHash } from "../../common/training/round-record.ts";
import type { UntrainedStart } from "../../common/training/untrained-start.ts";
import { encodeParameters } from "../codec/parameters.ts";
import { createAggregation } from "./aggregation.ts";
import { type BlobFolder, openBlobFolder } from "./blobs/blob-folder.ts";
import { verifyFederation } from "./verify.ts";

const signal = new AbortController().signal;
const NAMES = ["initial", "own", "first", "second", "third", "other"];
const blobOf = (name: string) => hash("sha256", name, "hex");

let folder: string;
let blobs: BlobFolder;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-verify-"));
  blobs = openBlobFolder({ folder, bytesMax: 1000, durable: false });
  for (const name of NAMES) await blobs.keepBytes(Buffer.from(name));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Given = { base: string | null; result: string; outer?: number };

/** The history of a federation. Its rounds were aggregated by a participant, so nothing is recomputed. */
function history(federationId: string, rounds: readonly Given[]) {
  let previous = NO_RECORD;
  return rounds.map(({ base, result, outer }, index) => {
    const round = index + 1;
    const record: RoundRecord = {
      ...{ federationId, round, previous, state: null, updates: [], strategy: {}, made: "delegated" },
      ...{ base: base === null ? null : blobOf(base), result: blobOf(result) },
      ...(outer === undefined ? {} : { outer: { federationId: "fed_outer", round: outer } }),
    };
    previous = roundRecordHash(record);
    return { round, record: JSON.stringify(record), recordHash: previous, resultBlob: record.result };
  });
}

function verify(inner: readonly Given[], outer: readonly Given[], federation: object = {}) {
  const all = { fed_inner: history("fed_inner", inner), fed_outer: history("fed_outer", outer) };
  const getHistory = async ({ federationId, after, limit }: { federationId: keyof typeof all; after: number; limit: number }) => ({
    rounds: all[federationId].filter(({ round }) => round > after).slice(0, limit),
  });
  const client = { getHistory, getWork: async () => ({ federation }) } as never;
  const deps = { blobs, aggregation: {}, secure: {} } as never;
  return verifyFederation(deps, { client, federationId: "fed_inner", signal });
}

const wrong = (round: number, outer: number) => ({
  ok: false,
  firstBad: { round, reason: `it does not begin with the parameters that round ${outer} of fed_outer began with` },
});

test("the rounds for the first outer round begin with the outer federation's initial parameters", async () => {
  const outer = [{ base: "initial", result: "second" }];
  expect(await verify([{ base: "initial", result: "first", outer: 1 }], outer)).toMatchObject({ ok: true, rounds: 1 });
  expect(await verify([{ base: "other", result: "first", outer: 1 }], outer)).toMatchObject(wrong(1, 1));
});

test("without initial parameters of the outer federation they begin with the result before", async () => {
  const outer = [{ base: null, result: "second" }];
  const own = { base: "own", result: "first" };
  expect(await verify([own, { base: "first", result: "second", outer: 1 }], outer)).toMatchObject({ ok: true, rounds: 2 });
  expect(await verify([own, { base: "other", result: "second", outer: 1 }], outer)).toMatchObject(wrong(2, 1));
});

test("a later outer round may itself begin with parameters from further out", async () => {
  const outer = [
    { base: "initial", result: "second", outer: 1 },
    { base: "third", result: "own", outer: 2 },
  ];
  const first = { base: "initial", result: "first", outer: 1 };
  expect(await verify([first, { base: "third", result: "own", outer: 2 }], outer)).toMatchObject({ ok: true, rounds: 2 });
  expect(await verify([first, { base: "second", result: "own", outer: 2 }], outer)).toMatchObject(wrong(2, 2));
});

test("the rounds for an outer round that is not committed begin with what it is to begin with", async () => {
  const first = { base: "initial", result: "first", outer: 1 };
  const initialBlob = blobOf("initial");
  expect(await verify([first], [], { initialBlob })).toMatchObject({ ok: true });
  expect(await verify([{ ...first, base: "other" }], [], { initialBlob })).toMatchObject(wrong(1, 1));
  const outer = [{ base: "initial", result: "second" }];
  const wrongSecond = { base: "other", result: "third", outer: 2 };
  expect(await verify([first, { ...wrongSecond, base: "second" }], outer)).toMatchObject({ ok: true });
  expect(await verify([first, wrongSecond], outer)).toMatchObject(wrong(2, 2));
  expect(await verify([first, wrongSecond], outer, { outer: { federationId: "fed_outmost" } })).toMatchObject({ ok: true });
});

describe("untrained parameters that round 1 begins with", () => {
  const aggregation = createAggregation({
    blobs: openBlobFolder({ folder: tmpdir(), bytesMax: 1000 }),
    recordBytes: 1000,
    logger: silentLogger,
  });
  afterAll(() => aggregation.close());
  const config = { task: "mlp", seed: 7, hidden: [2] };
  const verdict = async (start: UntrainedStart, made: string) => {
    const first = { ...{ federationId: "fed_1", round: 1, previous: NO_RECORD, state: null, updates: [], strategy: {}, made: "noised" } };
    const record = { ...first, base: made, start, result: blobOf("first") } as RoundRecord;
    const one = { round: 1, record: JSON.stringify(record), recordHash: roundRecordHash(record), resultBlob: record.result };
    const client = { getHistory: async ({ after }: { after: number }) => ({ rounds: after === 0 ? [one] : [] }) } as never;
    return verifyFederation({ blobs, aggregation, secure: {} } as never, { client, federationId: "fed_1", signal });
  };

  test("of the coordinator are made again from the task, the seed and the dataset's shape", async () => {
    blobs = openBlobFolder({ folder, bytesMax: 100_000, durable: false });
    const made = await aggregation.untrained({ config, dataset: "digits" }, signal);
    const { sha256 } = await blobs.keepBytes(made);
    expect(await verdict({ by: "coordinator", config, dataset: "digits" }, sha256)).toMatchObject({ ok: true, rounds: 1 });
    const wrongStart = { ok: false, firstBad: { round: 1, reason: expect.stringContaining("not the untrained model of the task") } };
    for (const other of [{ seed: 8 }, { hidden: [3] }, { hidden: 3 }])
      expect(await verdict({ by: "coordinator", config: { ...config, ...other }, dataset: "digits" }, sha256)).toMatchObject(wrongStart);
  });

  test("of a participant have the hash that the record names", async () => {
    const start = { by: "participant", participantId: "p1" } as const;
    expect(await verdict(start, blobOf("initial"))).toMatchObject({ ok: true });
    expect(await verdict(start, blobOf("none"))).toMatchObject({ ok: false });
  });
});

describe("rounds of earlier versions are verified as they were made", () => {
  test.each([
    ["geometric_median", [10, 11, 12], { ok: true, remade: 1 }],
    ["median", [10, 0, 0], { ok: true, remade: 1 }],
    ["median", [10, 20, 30], { ok: true, remade: 1 }],
    // The mean never did.
    ["mean", [10, 0, 0], { ok: false, firstBad: { round: 1, reason: expect.stringContaining("aggregating its updates") } }],
  ])("%s of %j samples, where those of 0 had a say, and with the start at the mean", async (name, weights, verdict) => {
    blobs = openBlobFolder({ folder, bytesMax: 100_000, durable: false });
    const aggregation = createAggregation({ blobs, recordBytes: 100_000, logger: silentLogger });
    const stored = async (value: number) => {
      const tensor = { name: "w", dtype: "f32", shape: [1], data: Float32Array.of(value) } as const;
      return (await blobs.keepBytes(encodeParameters([tensor], "safetensors"))).sha256;
    };
    const [one, two, three] = [await stored(1), await stored(2), await stored(name === "geometric_median" ? 1e20 : 3)];
    const updates = [one, two, three].map((update, index) => ({ hash: update, weight: weights[index] ?? 0 }));
    const isGeometric = name === "geometric_median";
    const input = { updates: updates.map((update, index) => ({ ...update, id: String(index) })), base: "", state: "" };
    const legacy = { name: "geometric_median", start: "mean" };
    const result = isGeometric ? (await aggregation.store({ ...input, strategy: legacy }, signal)).parameters : two;
    if (isGeometric) expect((await aggregation.store({ ...input, strategy: { name } }, signal)).parameters).not.toBe(result);
    const start = { federationId: "fed_1", round: 1, previous: NO_RECORD, base: null, state: null, made: "aggregated" } as const;
    const record: RoundRecord = { ...start, updates, strategy: { name }, result };
    const round = { round: 1, record: JSON.stringify(record), recordHash: roundRecordHash(record), resultBlob: result };
    const client = { getHistory: async ({ after }: { after: number }) => ({ rounds: after === 0 ? [round] : [] }) } as never;
    try {
      const found = await verifyFederation({ blobs, aggregation, secure: {} } as never, { client, federationId: "fed_1", signal });
      expect(found).toMatchObject(verdict);
    } finally {
      await aggregation.close();
    }
  });
});
