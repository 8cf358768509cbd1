import { canonicalJson, fromJson } from "../../common/json.ts";
import { systemRandom } from "../../common/random.ts";
import { checkReceipt, receiptKey } from "../../common/receipt.ts";
import { createReceiptSigner } from "../crypto/receipt-signer.ts";
import { deriveSecrets } from "../crypto/secrets.ts";
import type { LedgerEntry } from "../domain/records.ts";
import { costAt } from "../domain/token-price.ts";
import { openTestStore } from "../stores/test-store.ts";
import { plant, reportedCall, withLedger } from "./ledger-fixture.ts";
import { receiptOf } from "./receipt.ts";
import { publishedKeys, publishReceiptKey } from "./receipt-keys.ts";

const signerOf = (root: string) => createReceiptSigner(deriveSecrets(Buffer.from(root), systemRandom));
const signer = signerOf("a root secret");
const keys = { keys: [signer.key] };

const row = { ...reportedCall("call_1", 9_007_199_254_740_993n), ledgerSeq: 7 };
const entry = { id: 7, reference: "call_1", amount: row.cost, hash: "ab".repeat(32) } as LedgerEntry;
const price = { unit: "token", input: 1_000_000_000n, output: 2_000_000_000n } as const;
const receipt = receiptOf(row, { entry, price });
const signed = { receipt, signature: signer.sign(receipt), keyId: signer.key.kid };
/** As a customer has it: saved as text, spaced and ordered by whatever saved it. */
const saved = () => fromJson(canonicalJson(signed)) as typeof signed;

test("a receipt says what was used, at which prices, what it cost and where the ledger has it, and can be checked by anybody", () => {
  expect(receipt).toMatchObject({
    callId: "call_1",
    organizationId: "org_1",
    model: "echo",
    priceVersion: 1,
    prices: { unit: "token", input: 1_000_000_000n, output: 2_000_000_000n, cachedInput: null },
    cost: 9_007_199_254_740_993n,
    costUsd: "9007199.254740993",
    ledgerSeq: 7,
    entryHash: entry.hash,
    createdAt: "2026-03-29T00:00:00.000Z",
  });
  expect(checkReceipt(saved(), keys)).toEqual({ ok: true, keyId: signer.key.kid });
  // The same call, the same receipt: nothing in it is of the moment it was asked for.
  expect(signerOf("a root secret").sign(receiptOf(row, { entry, price }))).toBe(signed.signature);
});

/** Every place of a receipt that holds a value. */
function leaves(value: object, path: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === "object" && inner !== null ? leaves(inner, [...path, name]) : [[...path, name]],
  );
}

test.each(leaves(receipt).map((path) => [path.join("."), path] as const))("a receipt whose %s was changed is refused", (_name, path) => {
  for (const change of [(value: unknown) => (typeof value === "bigint" ? value + 1n : `${value}x`), () => null, () => undefined]) {
    const forged = saved();
    const place = path
      .slice(0, -1)
      .reduce<Record<string, unknown>>((inner, name) => inner[name] as Record<string, unknown>, forged.receipt);
    const name = path.at(-1) ?? "";
    const before = place[name];
    place[name] = change(before);
    if (place[name] === before) continue;
    expect(checkReceipt(forged, keys)).toMatchObject({ ok: false, reason: expect.stringMatching(/signature does not match|no receipt/) });
  }
});

test("a receipt with something added, without its signature, by an unknown or a false key is refused", () => {
  const refused = (given: unknown, by: unknown = keys) => {
    const check = checkReceipt(given, by);
    return check.ok ? "accepted" : check.reason;
  };
  expect(refused({ ...saved(), receipt: { ...saved().receipt, note: "paid" } })).toMatch(/does not match/);
  expect(refused({ ...saved(), signature: signed.signature.replace(/^./, (first) => (first === "A" ? "B" : "A")) })).toMatch(
    /does not match/,
  );
  expect(refused({ receipt, keyId: signed.keyId })).toMatch(/no signature/);
  expect(refused({ ...saved(), keyId: "another" })).toMatch(/not among/);
  expect(refused(saved(), { keys: [] })).toMatch(/not among/);
  expect(refused(saved(), {})).toMatch(/holds none/);
  expect(refused("no receipt")).toMatch(/no receipt/);
  const other = signerOf("another root secret").key;
  expect(refused(saved(), { keys: [other] })).toMatch(/not among/);
  // A key under another's name: the name is its thumbprint.
  expect(refused(saved(), { keys: [{ ...other, kid: signed.keyId }] })).toMatch(/not a valid/);
  expect(refused(saved(), { keys: [{ ...receiptKey("short"), kid: signed.keyId }] })).toMatch(/not a valid/);
});

test("nothing is signed that the ledger does not say; a free call has a receipt without an entry", () => {
  for (const wrong of [undefined, { ...entry, amount: 1n }, { ...entry, reference: "call_2" }]) {
    expect(() => receiptOf(row, { entry: wrong, price })).toThrow("No receipt can be issued");
  }
  const free = reportedCall("call_2", 0n);
  expect(receiptOf(free, { entry: undefined, price: undefined })).toMatchObject({
    cost: 0n,
    ledgerSeq: null,
    entryHash: null,
    prices: null,
  });
  expect(() => receiptOf(free, { entry, price })).toThrow("No receipt can be issued");
});

test("the prices are those of the call's own tier, and none where the tier is not known", () => {
  const tiered = { ...price, tiers: [{ aboveInputTokens: 5, input: 7n, output: 8n }] };
  expect(receiptOf(row, { entry, price: tiered }).prices).toMatchObject({ input: 7n, output: 8n });
  const sound = { ...row, usage: { ...row.usage, audio: 3, total: 33 } };
  expect(receiptOf(sound, { entry, price: tiered }).prices).toBeNull();
  expect(receiptOf(sound, { entry, price }).prices).toMatchObject({ input: price.input });
});

test("a receipt of images has the price of their size and quality, and names both", () => {
  const usage = { ...row.usage, amounts: { image: { input: 0, output: 2 } }, image: "hd/1024x1792" };
  const images = { "standard/1024x1024": 4_000_000n, "hd/1024x1792": 12_000_000n };
  const priced = { unit: "image", input: 0n, output: 4_000_000n, images } as const;
  expect(costAt({ usage }, priced)).toBe(24n);
  const made = receiptOf({ ...row, usage }, { entry, price: priced });
  expect([made.usage.image, made.prices]).toEqual(["hd/1024x1792", expect.objectContaining({ unit: "image", output: 12_000_000n })]);
  expect(made.prices).not.toHaveProperty("images");
});

test("a key is published once and stays published under another root secret, after the one in use", async () => {
  const { store, close } = openTestStore();
  const next = signerOf("the next root secret");
  await publishReceiptKey(store, signer, 1);
  await publishReceiptKey(store, signer, 2);
  await publishReceiptKey(store, next, 3);
  const published = (by: typeof signer) => publishedKeys(store, by).then((found) => found.map(({ keyId, since }) => [keyId, since]));
  expect(await published(next)).toEqual([
    [next.key.kid, 3],
    [signer.key.kid, 1],
  ]);
  expect(await published(signer)).toEqual([
    [signer.key.kid, 1],
    [next.key.kid, 3],
  ]);
  expect(JSON.stringify(await store.get("settings", `receipt-key/${signer.key.kid}`))).not.toContain("private");
  await close();
});

test("the entry that a receipt names is the one of the chain", () =>
  withLedger(async (store) => {
    const [call, charged] = [await store.get("usage", "call_1"), await store.get("ledger", 3)];
    if (!call) throw new Error("the call must be there");
    expect(receiptOf(call, { entry: charged, price: undefined })).toMatchObject({ ledgerSeq: 3, entryHash: charged?.hash });
    await plant(store, "usage", "call_1", { cost: 11n });
    const changed = await store.get("usage", "call_1");
    expect(() => receiptOf(changed ?? call, { entry: charged, price: undefined })).toThrow("No receipt can be issued");
  }));
