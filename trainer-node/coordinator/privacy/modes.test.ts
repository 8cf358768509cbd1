import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { federationSettings } from "../../../common/training/federation-settings.ts";
import { privacyRules } from "../../../common/training/privacy-rules.ts";
import { sortedUpdates } from "../../../common/training/round-record.ts";
import { Federation, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { createAggregation } from "../aggregation.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import type { FederationControl } from "../control.ts";
import type { Participants } from "../participants/participants.ts";
import { privacyMode } from "./modes.ts";

const SIZE = 40_000;
const dp = { clipNorm: 1.5, noiseMultiplier: 2, delta: 1e-5 };

const folder = mkdtempSync(join(tmpdir(), "tributary-privacy-"));
const blobs = openBlobFolder({ folder, bytesMax: 10_000_000 });
const aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });

afterAll(async () => {
  await aggregation.close();
  rmSync(folder, { recursive: true, force: true });
});

const model = (value: number) =>
  encodeParameters([{ name: "w", dtype: "f32", shape: [SIZE], data: new Float32Array(SIZE).fill(value) }], "safetensors");

/** Three updates of 1, 10 and 100 samples. */
async function prepare(settings: object) {
  const { sha256: headBlob } = await blobs.keepBytes(model(0));
  const accepted = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const { sha256: updateBlob } = await blobs.keepBytes(model(index * 1e-9));
      return RoundParticipant.fromPartial({ participantId: `p${index}`, state: "accepted", updateBlob, samples: 10n ** BigInt(index) });
    }),
  );
  const run = {
    deps: { participants: {} as Participants, aggregation, blobs, clock, random, logger: silentLogger, callsMax: 1 },
    control: {} as FederationControl,
    settings: federationSettings.parse({ task: "softmax", ...settings }),
    members: [],
    signal: new AbortController().signal,
    federation: Federation.fromPartial({ id: "fed_1", headBlob, headRound: 6, headRecordHash: "f".repeat(64) }),
  };
  return { run, accepted };
}

describe.each([
  ["none", {}],
  ["local", { dp: { ...dp, mode: "local" } }],
  ["central", { dp: { ...dp, mode: "central" } }],
])("every privacy mode: %s", (name, privacy) => {
  test.each(["fedavg", "fedadam"])(
    "combines the updates, or their sum alone, into stored parameters and a linked record; %s",
    async (strategy) => {
      const { run, accepted } = await prepare({ ...privacy, strategy });
      const [mode, rules] = [privacyMode(run.settings), privacyRules(run.settings)];
      const updates = sortedUpdates(
        accepted.map(({ updateBlob: hash, samples }) => ({ hash, weight: rules.weights === "equal" ? 1 : Number(samples) })),
      );
      const sum = { updates, mean: model(1e-9), secure: { proof: "a".repeat(64) } };
      for (const make of [() => mode.combine(run, 7, accepted), () => mode.combineSum(run, 7, sum)]) {
        const [{ record, stateBlob }, again] = [await make(), await make()];
        expect(record).toMatchObject({ federationId: "fed_1", round: 7, previous: "f".repeat(64), base: run.federation.headBlob, updates });
        expect(decodeParameters(await blobs.read(record.result)).tensors[0]?.data).toHaveLength(SIZE);
        expect([stateBlob !== "", await blobs.find(stateBlob || record.result)]).toEqual([strategy === "fedadam", expect.anything()]);
        expect(rules.isNoised(record.made)).toBe(name !== "none");
        expect(again.record.result === record.result).toBe(record.made !== "noised");
      }
    },
  );
});

test("central noise on the mean is Gaussian: mean 0, deviation multiplier times clip norm over the clients, fourth moment 3", async () => {
  const { run, accepted } = await prepare({ dp: { ...dp, mode: "central" } });
  const { record } = await privacyMode(run.settings).combine(run, 1, accepted);
  const values = Array.from((decodeParameters(await blobs.read(record.result)).tensors[0]?.data ?? []) as Float32Array);
  const deviation = (dp.noiseMultiplier * dp.clipNorm) / accepted.length;
  const moment = (power: number) => values.reduce((sum, value) => sum + (value / deviation) ** power, 0) / SIZE;
  // Within six standard errors of moments of 40,000 normal numbers.
  expect(Math.abs(moment(1))).toBeLessThan(6 / Math.sqrt(SIZE));
  expect(Math.abs(moment(2) - 1)).toBeLessThan(6 * Math.sqrt(2 / SIZE));
  expect(Math.abs(moment(3))).toBeLessThan(6 * Math.sqrt(15 / SIZE));
  expect(Math.abs(moment(4) - 3)).toBeLessThan(6 * Math.sqrt(96 / SIZE));
});

test.each(["fedavg", "fedadam", "median"])(
  "a round that another coordinator makes again has the same noise, and other noise if anything of it differs: %s",
  async (name) => {
    const { run, accepted } = await prepare({ dp: { ...dp, mode: "central" }, strategy: name });
    const made = async (changes: Partial<Federation>, updates = accepted) => {
      const federation = { ...run.federation, noiseKey: Buffer.alloc(32, 1), ...changes };
      const { record } = await privacyMode(run.settings).combine({ ...run, federation }, 7, updates);
      return record.result;
    };
    const first = await made({});
    expect(await made({}, accepted.toReversed())).toBe(first);
    const { sha256: base } = await blobs.keepBytes(model(1e-9));
    const others = [made({ noiseKey: Buffer.alloc(32, 2) }), made({ headRound: 7 }), made({ headBlob: base }), made({}, accepted.slice(1))];
    const known = decodeParameters(await blobs.read(first)).tensors[0]?.data as Float32Array;
    for (const other of await Promise.all(others)) {
      const found = decodeParameters(await blobs.read(other)).tensors[0]?.data as Float32Array;
      // Noise that is the same, or a multiple of it, would have a correlation near one.
      const sum = (left: Float32Array, right: Float32Array) => left.reduce((total, value, index) => total + value * (right[index] ?? 0), 0);
      expect(Math.abs(sum(known, found) / Math.sqrt(sum(known, known) * sum(found, found)))).toBeLessThan(0.05);
    }
  },
);

test("so has a sum that the coordinator unmasks again, with the help of other participants", async () => {
  const { run } = await prepare({ dp: { ...dp, mode: "central" } });
  const federation = { ...run.federation, noiseKey: Buffer.alloc(32, 1) };
  const made = async (proof: string, hash = "b") => {
    const sum = { updates: [{ hash: hash.repeat(64), weight: 1 }], mean: model(1e-9), secure: { proof: proof.repeat(64) } };
    return (await privacyMode(run.settings).combineSum({ ...run, federation }, 7, sum)).record.result;
  };
  expect(await made("d")).toBe(await made("c"));
  expect(await made("c", "e")).not.toBe(await made("c"));
});

describe("central noise wraps a strategy that sees every single update", () => {
  const values = async (hash: string) => Array.from((decodeParameters(await blobs.read(hash)).tensors[0]?.data ?? []) as Float32Array);

  test.each([
    ["krum", { name: "krum", f: 0 }],
    ["median", { name: "median" }],
    ["trimmed_mean", { name: "trimmed_mean", beta: 0.34 }],
    ["geometric_median", { name: "geometric_median" }],
  ])("%s: noise for the width of the clip norm's ball, whatever the number of clients, and the record says so", async (_name, strategy) => {
    const { run, accepted } = await prepare({ dp: { ...dp, mode: "central" }, strategy });
    const { record } = await privacyMode(run.settings).combine(run, 1, accepted);
    const deviation = dp.noiseMultiplier * 2 * dp.clipNorm;
    expect(record).toMatchObject({ made: "noised", strategy: { ...strategy, clip_norm: dp.clipNorm, noise_deviation: deviation } });
    const squares = (await values(record.result)).reduce((sum, value) => sum + value ** 2, 0);
    expect(Math.abs(Math.sqrt(squares / SIZE) / deviation - 1)).toBeLessThan(0.02);
  });

  test("krum keeps one clipped update: the step from the base has at most the clip norm", async () => {
    const quiet = { ...dp, noiseMultiplier: 1e-9, mode: "central" };
    const { run } = await prepare({ dp: quiet, strategy: { name: "krum", f: 0 } });
    const { sha256: headBlob } = await blobs.keepBytes(model(5));
    const accepted = await Promise.all(
      [6, 6, 1000].map(async (value, index) => {
        const { sha256: updateBlob } = await blobs.keepBytes(model(value));
        return RoundParticipant.fromPartial({ participantId: `p${index}`, state: "accepted", updateBlob, samples: 1n });
      }),
    );
    const { record } = await privacyMode(run.settings).combine({ ...run, federation: { ...run.federation, headBlob } }, 1, accepted);
    const moved = (await values(record.result)).map((value) => value - 5);
    expect(Math.sqrt(moved.reduce((sum, value) => sum + value ** 2, 0))).toBeCloseTo(dp.clipNorm, 2);
  });
});

test("sampled participants: the sum is divided by their expected number, and so is the noise", async () => {
  const participants = Array.from({ length: 100 }, (_, index) => ({ id: `p${index}` }));
  const { run, accepted } = await prepare({ dp: { ...dp, noiseMultiplier: 1e-9, mode: "central" }, fraction: 0.02 });
  const sampled = await Promise.all(
    accepted.map(async (participant) => ({ ...participant, updateBlob: (await blobs.keepBytes(model(0.001))).sha256 })),
  );
  const federation = Federation.fromPartial({ ...run.federation, participants });
  const { record } = await privacyMode(run.settings).combine({ ...run, federation }, 1, sampled);
  expect(record.strategy["noise_deviation"]).toBeCloseTo((1e-9 * dp.clipNorm) / 2, 15);
  const [first] = (decodeParameters(await blobs.read(record.result)).tensors[0]?.data ?? []) as Float32Array;
  // Three updates where two are expected.
  expect(first).toBeCloseTo(0.0015, 6);
});
