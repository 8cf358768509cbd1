import fc from "fast-check";
import { fedbuff } from "../../common/strategies/fedbuff.ts";
import { signatureOf } from "../../common/training/call-signature.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { datasetOf, quorum, roundSize, selectParticipants } from "./select.ts";
import { inspectUpdate, OPAQUE, requireLayout } from "./updates/inspect-update.ts";
import { rebaseUpdate } from "./updates/rebase.ts";

const model = (...values: number[]) =>
  encodeParameters([{ name: "w", dtype: "f32", shape: [values.length], data: Float32Array.from(values) }], "safetensors");

test("a task and a strategy may be given by name alone, and everything else has a default", () => {
  expect(federationSettings.parse({ task: "mlp", strategy: "median" })).toMatchObject({
    task: { name: "mlp", config: {} },
    strategy: { name: "median" },
    rounds: 10,
    fraction: 1,
    eval: { mode: "held_out" },
  });
  expect(federationSettings.safeParse({ task: "mlp", strategy: { name: "magic" } }).error?.issues[0]?.path).toEqual(["strategy", "name"]);
});

test("the same seed and round choose the same participants, in their order, and rounds take turns", () => {
  const participants = Array.from({ length: 20 }, (_, index) => ({ id: `p${index + 1}` }));
  const chosen = (round: number) => selectParticipants(participants, { count: 5, seed: 7, round }).map(({ id }) => id);
  expect(chosen(1)).toEqual(chosen(1));
  expect(chosen(1)).toHaveLength(5);
  expect(new Set(Array.from({ length: 40 }, (_, round) => chosen(round)).flat()).size).toBe(20);
});

test.each([
  [
    { participants: 100, fraction: 0.07, overSelect: 0 },
    { wanted: 7, asked: 7 },
  ],
  [
    { participants: 100, fraction: 0.5, overSelect: 0.1 },
    { wanted: 50, asked: 55 },
  ],
  [
    { participants: 100, fraction: 0.07, overSelect: 0.3 },
    { wanted: 7, asked: 10 },
  ],
  [
    { participants: 10, fraction: 1, overSelect: 0.1 },
    { wanted: 10, asked: 10 },
  ],
])("%j: a round wants and asks %j, without the errors of floats", (given, size) => {
  expect(roundSize(given)).toEqual(size);
});

test("a fraction of so many hundredths of a hundred participants is as many", () => {
  for (let hundredths = 1; hundredths <= 100; hundredths++)
    expect(roundSize({ participants: 100, fraction: hundredths / 100, overSelect: 0 }).wanted).toBe(hundredths);
});

test("a round asks for what it wants and its surplus, never more than there are, and needs no more than it wants", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.double({ min: 0.001, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 3, noNaN: true }),
      (participants, fraction, overSelect) => {
        const { wanted, asked } = roundSize({ participants, fraction, overSelect });
        expect(wanted).toBeGreaterThanOrEqual(1);
        expect(asked).toBeGreaterThanOrEqual(wanted);
        expect(asked).toBeLessThanOrEqual(participants);
        expect(quorum({ minResults: undefined, wanted })).toBeLessThanOrEqual(wanted);
        expect(quorum({ minResults: 1000, wanted })).toBe(wanted);
      },
    ),
  );
});

test("a partition without an index gets the participant's; its own dataset takes precedence", () => {
  const shared = { name: "digits", partition: { scheme: "iid" } };
  expect(datasetOf({ dataset: "" }, { shared, index: 2, of: 5 })).toEqual({
    name: "digits",
    partition: { scheme: "iid", index: 2, of: 5 },
  });
  expect(datasetOf({ dataset: '"own"' }, { shared, index: 2, of: 5 })).toBe("own");
  expect(datasetOf({ dataset: "" }, { shared: undefined, index: 2, of: 5 })).toBeUndefined();
});

test("a signature covers every part of the call and the secret", () => {
  const parts = { method: "POST", path: "/v1/train", timestamp: "1", nonce: "n", bodySha256: "b" };
  const headers = { "x-train-config": "{}" };
  const signatures = [
    signatureOf("secret", { ...parts, headers }),
    signatureOf("other", { ...parts, headers }),
    ...Object.keys(parts).map((name) => signatureOf("secret", { ...parts, headers, [name]: "x" })),
    ...["content-type", "idempotency-key", "x-gw-tenant", "x-train-config"].map((name) =>
      signatureOf("secret", { ...parts, headers: { ...headers, [name]: "x" } }),
    ),
    signatureOf("secret", { ...parts, headers: {} }),
  ];
  expect(new Set(signatures).size).toBe(signatures.length);
});

describe("what is looked at before an update counts", () => {
  test("a NaN, an empty body and another shape are one participant's failure", () => {
    expect(() => inspectUpdate(model(1, Number.NaN))).toThrow("NON_FINITE");
    expect(() => inspectUpdate(new Uint8Array(0))).toThrow("empty");
    expect(() => requireLayout(inspectUpdate(model(1)), inspectUpdate(model(1, 2)))).toThrow("SHAPE_MISMATCH");
    expect(() => requireLayout(inspectUpdate(model(3, 4)), inspectUpdate(model(1, 2)))).not.toThrow();
  });

  test("a pickle is never read: it is opaque, and not to be mixed with what can be read", () => {
    const pickle = Uint8Array.from([0x80, 4, 1, 2, 3]);
    expect(inspectUpdate(pickle)).toBe(OPAQUE);
    expect(() => requireLayout(OPAQUE, inspectUpdate(model(1)))).toThrow("its parameters are opaque");
  });
});

test("what a late update learned is put on the parameters of today, by how late it is", () => {
  const moved = rebaseUpdate({ update: model(3, 5), base: model(1, 1), head: model(10, 20), factor: 0.5 });
  expect([...(decodeParameters(moved).tensors[0]?.data ?? [])].map(Number)).toEqual([11, 22]);
  expect([0, 3, 8].map((rounds) => fedbuff.rebase?.({ name: "fedbuff" }, rounds))).toEqual([1, 0.5, 1 / 3]);
});
