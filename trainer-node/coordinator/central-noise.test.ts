import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { federationSettings } from "../../common/federation-settings.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import { Federation, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { createAggregation } from "./aggregation.ts";
import { openBlobFolder } from "./blobs/blob-folder.ts";
import { combineRound } from "./combine.ts";
import type { FederationControl } from "./control.ts";
import type { Participants } from "./participants/participants.ts";

const DELTA = 1e-5;

test("central noise on the mean is Gaussian: mean 0, deviation multiplier times clip norm over the clients, fourth moment 3", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-noise-"));
  const blobs = openBlobFolder({ folder, bytesMax: 10_000_000 });
  const aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });
  const [size, clients, noiseMultiplier, clipNorm] = [40_000, 3, 2, 1.5];
  const model = (value: number) =>
    encodeParameters([{ name: "w", dtype: "f32", shape: [size], data: new Float32Array(size).fill(value) }], "safetensors");
  const base = (await blobs.keepBytes(model(0))).sha256;
  const accepted = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const { sha256 } = await blobs.keepBytes(model(index * 1e-9));
      return RoundParticipant.fromPartial({
        participantId: `p${index + 1}`,
        state: "accepted",
        updateBlob: sha256,
        samples: 10n ** BigInt(index),
      });
    }),
  );
  const run = {
    deps: { participants: {} as Participants, aggregation, blobs, clock, random, logger: silentLogger, callsMax: 1 },
    control: {} as FederationControl,
    settings: federationSettings.parse({ task: "softmax", dp: { mode: "central", clipNorm, noiseMultiplier, delta: DELTA } }),
    members: [],
    signal: new AbortController().signal,
    federation: Federation.fromPartial({ id: "fed_1", headBlob: base }),
  };
  try {
    const { record } = await combineRound(run, 1, accepted);
    const values = Array.from((decodeParameters(await blobs.read(record.result)).tensors[0]?.data ?? []) as Float32Array);
    const deviation = (noiseMultiplier * clipNorm) / clients;
    const moment = (power: number) => values.reduce((sum, value) => sum + (value / deviation) ** power, 0) / size;
    // Within six standard errors of moments of 40,000 normal numbers.
    expect(Math.abs(moment(1))).toBeLessThan(6 / Math.sqrt(size));
    expect(Math.abs(moment(2) - 1)).toBeLessThan(6 * Math.sqrt(2 / size));
    expect(Math.abs(moment(3))).toBeLessThan(6 * Math.sqrt(15 / size));
    expect(Math.abs(moment(4) - 3)).toBeLessThan(6 * Math.sqrt(96 / size));
    // Noise hides a participant only if its weight is bounded.
    expect(record.updates.map(({ weight }) => weight)).toEqual([1, 1, 1]);
  } finally {
    await aggregation.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
