import { encodeParameters } from "../codec/parameters.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import { model, openRunFixture } from "./run-fixture.ts";

const fixture = openRunFixture();
const { blobs } = fixture;
const noise = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
const narrow = encodeParameters([{ name: "w", dtype: "bf16", shape: [2], data: Float32Array.of(1, 1) }], "safetensors");
afterAll(() => fixture.close());

/** A federation of two participants that send 1 and 3; `failures` of their first calls fail. */
function run(given: object, { initial, failures = 0 }: { initial?: Uint8Array; failures?: number } = {}) {
  let failed = 0;
  const train = (id: string) => {
    if (failed++ < failures) throw new ParticipantProblem("it is busy", { again: true });
    return { model: model(id === "p1" ? 1 : 3), samples: 1 };
  };
  return fixture.run(given, { train }, initial ? { initial } : {});
}

test("without `initial` every participant starts with its own parameters", async () => {
  const { asked, records } = await run({});
  expect([asked.map(({ parameters }) => parameters), records.map(({ base }) => base)]).toEqual([["", ""], [null]]);
});

test("all participants of round 1 start from the initial parameters, and its record names them as the base", async () => {
  const { asked, records, initialBlob } = await run({ initial: { blob: "a".repeat(64) } }, { initial: model(7) });
  expect(asked.map(({ id, parameters }) => [id, parameters])).toEqual([
    ["p1", initialBlob],
    ["p2", initialBlob],
  ]);
  expect(records.map(({ base }) => base)).toEqual([initialBlob]);
});

test("one participant is asked for the initial parameters, again if it is busy, and all start from its answer", async () => {
  const { asked, records, problem } = await run({ initial: { participant: 1 } }, { failures: 1 });
  expect(problem).toBeUndefined();
  const { sha256 } = await blobs.keepBytes(model(3));
  expect(asked).toEqual([
    { id: "p2", parameters: "", roundId: "simulation/0" },
    { id: "p2", parameters: "", roundId: "simulation/0" },
    { id: "p1", parameters: sha256, roundId: "simulation/1" },
    { id: "p2", parameters: sha256, roundId: "simulation/1" },
  ]);
  expect(records.map(({ base }) => base)).toEqual([sha256]);
});

test.each([
  ["a NaN", model(Number.NaN), {}, { code: "VALIDATION_ERROR", message: expect.stringContaining("NON_FINITE") }],
  ["no bytes", new Uint8Array(0), {}, { code: "VALIDATION_ERROR", message: expect.stringContaining("empty") }],
  ["floats of 16 bits under central noise", narrow, { dp: { ...noise, mode: "central" } }, { code: "UNSUPPORTED_PARAMETERS" }],
  ["a pickle for a strategy that computes", Uint8Array.of(0x80, 4, 46), { strategy: "fedadam" }, { code: "UNSUPPORTED_PARAMETERS" }],
])("initial parameters with %s fail the federation before a participant is asked", async (_name, initial, given, expected) => {
  const { asked, problem } = await run({ ...given, initial: { blob: "a".repeat(64) } }, { initial });
  expect(problem).toMatchObject({ message: expect.stringContaining("initial parameters cannot be used"), ...expected });
  expect(asked).toEqual([]);
});

test("what one participant trained is no start for a private federation", async () => {
  const { asked, problem } = await run({ initial: { participant: 0 }, dp: { ...noise, mode: "central" } });
  expect([asked, problem?.code, problem?.message]).toEqual([[], "VALIDATION_ERROR", expect.stringContaining("does not work with dp")]);
});
