import { randomBytes } from "node:crypto";
import { encodeParameters } from "../codec/parameters.ts";
import { addWords, fixedPointFor, fromWords, toWords } from "../compute/privacy/fixed-point.ts";
import { agreedKey, maskKeysOf } from "./mask-keys.ts";
import { helpFor, introduction, maskedWords, newSecrets, type RoundSecrets, removeMasks, sharesFor, type Unmasking } from "./secure-sum.ts";
import { doSecureWork } from "./secure-work.ts";

const IDS = ["anna", "bo", "chen", "dina", "emil"];
const [LENGTH, THRESHOLD] = [20_000, 3];
const vectors = new Map(IDS.map((id, client) => [id, Float32Array.from({ length: LENGTH }, (_, index) => Math.sin(index * (client + 1)))]));
const fixed = fixedPointFor({ clients: IDS.length, limit: 1 });
const wordsOf = (id: string) => toWords(vectors.get(id) ?? [], fixed);
const plainSum = (ids: readonly string[]) => {
  const total = new Uint32Array(LENGTH);
  for (const id of ids) addWords(total, wordsOf(id));
  return total;
};

function unmaskedSum(masked: ReadonlyMap<string, Uint32Array>, unmasking: Unmasking): Uint32Array {
  const total = new Uint32Array(LENGTH);
  for (const words of masked.values()) addWords(total, words);
  removeMasks(total, { ...unmasking, inSum: new Set(masked.keys()) });
  return total;
}

/** The first three steps, with everybody there. */
function prepare(round = "f1/7") {
  const secrets = IDS.map((id) => newSecrets({ round, id, randomBytes }));
  const everybody = secrets.map(introduction);
  const sent = new Map(secrets.map((own) => [own.id, sharesFor(own, everybody, { threshold: THRESHOLD, randomBytes })]));
  const receivedBy = (id: string) => new Map([...sent].map(([from, shares]) => [from, shares.get(id) as Uint8Array]));
  const masked = new Map(secrets.map((own) => [own.id, maskedWords(wordsOf(own.id), own, everybody)]));
  const help = (own: RoundSecrets, inSum: readonly string[]) =>
    helpFor(own, { everybody, received: receivedBy(own.id), inSum, threshold: THRESHOLD });
  const finish = (inSum: readonly string[], helpers: readonly string[] = inSum) =>
    unmaskedSum(new Map([...masked].filter(([id]) => inSum.includes(id))), {
      round,
      everybody,
      help: secrets.filter(({ id }) => helpers.includes(id)).map((own) => help(own, inSum)),
      threshold: THRESHOLD,
    });
  return { secrets, everybody, masked, help, finish, receivedBy };
}

test("the masked sum is the plain sum to the last bit, and within rounding the sum of the floats", () => {
  const total = prepare().finish(IDS);
  expect(total).toEqual(plainSum(IDS));
  const exact = IDS.reduce((sum, id) => sum + ((vectors.get(id) as Float32Array)[777] as number), 0);
  expect(Math.abs((fromWords(total, fixed)[777] as number) - exact)).toBeLessThan(IDS.length * 2 ** -fixed.fractionBits);
});

test("one or two participants that drop out after their shares were sent are left out exactly, whichever of the rest help", () => {
  const round = prepare();
  for (const gone of [["bo"], ["anna", "emil"]]) {
    const stayed = IDS.filter((id) => !gone.includes(id));
    expect(round.finish(stayed)).toEqual(plainSum(stayed));
    expect(round.finish(stayed, stayed.slice(0, THRESHOLD))).toEqual(plainSum(stayed));
  }
});

test("a masked vector tells nothing by itself: its words look like chance, and differ every round", () => {
  const [first, second] = [prepare().masked.get("anna") as Uint32Array, prepare("f1/8").masked.get("anna") as Uint32Array];
  const ones = first.reduce((count, word) => count + (word >>> 31), 0);
  // Half of 20,000 to within six standard errors, 71 each.
  expect(Math.abs(ones - LENGTH / 2)).toBeLessThan(426);
  expect(first.filter((word, index) => word === second[index]).length).toBeLessThan(5);
});

test("below the threshold no participant helps, and without enough help there is no sum", () => {
  const round = prepare();
  expect(() => round.finish(["anna", "bo"])).toThrow("below the threshold of 3");
  expect(() => round.finish(IDS, ["anna", "bo"])).toThrow("fewer than the threshold of 3");
});

test("invented participants do not count for the threshold: no participant helps with a sum that names them", () => {
  const round = prepare();
  expect(() => round.help(round.secrets[0] as RoundSecrets, ["anna", "nobody1", "nobody2"])).toThrow("nobody1 is not a partner");
});

test("an update beyond the limit is refused by its tensor, without its number or where that is", () => {
  const [anna] = prepare().secrets as [RoundSecrets];
  const update = encodeParameters([{ name: "w", dtype: "f64", shape: [2], data: Float64Array.of(0.5, 77.25) }], "safetensors");
  const mask = () => doSecureWork({ step: "mask", update, factor: 1, fixed, secrets: anna, partners: [] }, () => new Uint8Array());
  expect(mask).toThrow(
    /^tensor "w" has a number beyond 1, the limit of secure aggregation; raise secureAggregation\.range, or .*statistics set rows_max/,
  );
});

test("a participant never reveals both secrets of one other", () => {
  const round = prepare();
  const { ownMasks, pairSecrets } = round.help(round.secrets[0] as RoundSecrets, ["anna", "bo", "chen", "dina"]);
  expect([...ownMasks.keys()]).toEqual(["anna", "bo", "chen", "dina"]);
  expect([...pairSecrets.keys()]).toEqual(["emil"]);
});

test("shares that were meant for somebody else, or changed on the way, are refused", () => {
  const round = prepare();
  const [anna] = round.secrets as [RoundSecrets];
  const options = { everybody: round.everybody, inSum: IDS, threshold: THRESHOLD };
  expect(() => helpFor(anna, { ...options, received: round.receivedBy("bo") })).toThrow();
  const changed = new Map(
    [...round.receivedBy("anna")].map(([from, bytes]) => [from, Uint8Array.from(bytes, (byte, at) => (at === 20 ? byte ^ 1 : byte))]),
  );
  expect(() => helpFor(anna, { ...options, received: changed })).toThrow();
});

test("a false share of one who dropped out is found, not summed", () => {
  const round = prepare();
  const stayed = IDS.filter((id) => id !== "bo");
  const help = round.secrets.filter(({ id }) => id !== "bo").map((own) => round.help(own, stayed));
  for (const { pairSecrets } of help) pairSecrets.get("bo")?.bytes.fill(1);
  const masked = new Map([...round.masked].filter(([id]) => id !== "bo"));
  expect(() => unmaskedSum(masked, { round: "f1/7", everybody: round.everybody, help, threshold: THRESHOLD })).toThrow(
    "one of them is false",
  );
});

test("a false share of a mask that is to be taken off is found, not summed", () => {
  const round = prepare();
  const help = round.secrets.map((own) => round.help(own, IDS));
  const share = help[0]?.ownMasks.get("chen");
  if (share) share.bytes[5] = (share.bytes[5] as number) ^ 1;
  expect(() => unmaskedSum(round.masked, { round: "f1/7", everybody: round.everybody, help, threshold: THRESHOLD })).toThrow(
    "the shares of chen do not give its mask",
  );
});

test("a threshold of half or less, and ids that are not unique, are refused", () => {
  const { secrets, everybody } = prepare();
  const [anna] = secrets as [RoundSecrets];
  expect(() => sharesFor(anna, everybody, { threshold: 2, randomBytes })).toThrow("not more than half");
  expect(() => sharesFor(anna, [...everybody, everybody[0] as never], { threshold: 4, randomBytes })).toThrow("same id");
});

test("X25519 gives the public key of RFC 7748, section 6.1, and the same key to both sides", () => {
  const hex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"));
  const alice = maskKeysOf(hex("01".repeat(32)));
  const bob = maskKeysOf(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  expect(Buffer.from(bob.publicKey).toString("hex")).toBe("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  expect(agreedKey({ secret: alice.secret, publicKey: bob.publicKey, purpose: "a" })).toEqual(
    agreedKey({ secret: bob.secret, publicKey: alice.publicKey, purpose: "a" }),
  );
  expect(agreedKey({ secret: alice.secret, publicKey: bob.publicKey, purpose: "b" })).not.toEqual(
    agreedKey({ secret: alice.secret, publicKey: bob.publicKey, purpose: "a" }),
  );
});
