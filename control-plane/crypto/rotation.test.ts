import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import { NotOwner } from "../domain/not-owner.ts";
import { publishedKeys } from "../proof/receipt-keys.ts";
import type { CollectionName, Records } from "../stores/collections.ts";
import { listOf, type Scopes } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { openKeyring } from "./open-keyring.ts";
import { createReceiptSigner } from "./receipt-signer.ts";
import { RootSecretRotation } from "./rotate-root-secret.ts";
import { deriveSecrets } from "./secrets.ts";
import { createTokens } from "./tokens.ts";

const root = (name: string) => deriveSecrets(Buffer.from(`the root secret ${name}`), random);
const MINUTE_MS = 60_000;

let opened: ReturnType<typeof openTestStore>;
beforeEach(() => {
  opened = openTestStore();
});
afterEach(() => opened.close());

/** The store as one that several control planes share. */
function shared(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === "slots" ? 256 : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function plane(
  { key, previous }: { key: string; previous?: string },
  { store = opened.store, instance = key }: { store?: Store; instance?: string } = {},
) {
  const keyring = await openKeyring(store, { wanted: root(key), previous: previous === undefined ? undefined : root(previous) }, random);
  const logged: string[] = [];
  const ended: unknown[] = [];
  const logger = { ...silentLogger, info: (_: object, text: string) => void logged.push(text) } as typeof silentLogger;
  const receipts = createReceiptSigner(keyring);
  const rotation = new RootSecretRotation({ store, keyring, receipts, logger, instance, end: (error) => void ended.push(error) });
  return { keyring, receipts, logged, ended, step: (now: number) => rotation.step(now), leave: () => rotation.leave() };
}

const put = <Name extends CollectionName>(name: Name, record: unknown) =>
  opened.store.transaction("every", (tx) => tx.put(name, record as Records[Name]));

/** One record of each collection with sealed values; every sealed text is "plain". */
async function fill(seal: () => string): Promise<void> {
  await put("providers", { id: "prov_1", nameKey: "p", sealedCredential: seal(), sealedTls: seal(), createdAt: 1 });
  await put("providers", { id: "prov_2", nameKey: "without", createdAt: 1 });
  await put("secondFactors", { id: 7, sealedSecret: seal(), recoveryHashes: [] });
  await put("webhooks", { id: "wh_1", organizationId: "org_1", sealedSecret: seal(), createdAt: 1 });
  await put("trainerNodes", {
    id: "node_1",
    organizationId: "org_1",
    teamId: "t",
    createdAt: 1,
    sealedToken: seal(),
    sealedSecret: seal(),
  });
  await put("idempotency", { id: "idem_1", requestHash: "h", sealedAnswer: seal(), expiresAt: 9e12 });
  await put("callContents", { id: "call_1", organizationId: "org_1", createdAt: 1, expiresAt: 9e12, sealedContent: seal() });
  const participants = [
    { id: "a", sealedSecret: seal(), sealedToken: seal() },
    { id: "b", sealedSecret: seal() },
  ];
  await put("federations", { id: "fed_1", organizationId: "org_1", teamId: "t", createdAt: 1, state: "created", participants });
}

async function sealedTexts(): Promise<string[]> {
  const names = ["providers", "secondFactors", "webhooks", "trainerNodes", "idempotency", "federations", "callContents"] as const;
  const texts: string[] = [];
  for (const name of names) {
    for await (const record of opened.store.scan(name)) {
      JSON.stringify(record, (key, value: unknown) => {
        if (key.startsWith("sealed")) texts.push(String(value));
        return value;
      });
    }
  }
  return texts;
}

const opens = (key: string, texts: readonly string[]) =>
  texts.filter((text) => {
    try {
      return root(key).open(text).toString() === "plain";
    } catch {
      return false;
    }
  }).length;

test("after a rotation the new root secret alone opens every sealed value, and every hash is the same", async () => {
  const before = await plane({ key: "old" });
  await fill(() => before.keyring.seal(Buffer.from("plain")));
  const hashes = [before.keyring.keyHash(Buffer.from("key")), before.keyring.tokenHash("token")];
  const during = await plane({ key: "new", previous: "old" });
  expect((await sealedTexts()).map((text) => during.keyring.open(text).toString())).toEqual(Array.from({ length: 11 }, () => "plain"));
  await during.step(1);
  expect([opens("old", await sealedTexts()), opens("new", await sealedTexts())]).toEqual([0, 11]);
  await during.step(2);
  expect(during.logged.at(-1)).toMatch(/SECRET_KEY_PREVIOUS can be removed/);
  const after = await plane({ key: "new" });
  expect([after.keyring.keyHash(Buffer.from("key")), after.keyring.tokenHash("token")]).toEqual(hashes);
  expect((await publishedKeys(opened.store, after.receipts)).map(({ keyId }) => keyId)).toContain(after.receipts.key.kid);
  await expect(plane({ key: "old" })).rejects.toThrow(/SECRET_KEY is not the one/);
});

test("a pass that ends half way is continued by the next start, and until then the former secret cannot be left out", async () => {
  const before = await plane({ key: "old" });
  await fill(() => before.keyring.seal(Buffer.from("plain")));
  let transactions = 0;
  const failing = new Proxy(opened.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "transaction") return typeof value === "function" ? value.bind(target) : value;
      return (...given: Parameters<Store["transaction"]>) => {
        if (++transactions > 5) throw new Error("the process is killed");
        return target.transaction(...given);
      };
    },
  });
  const killed = await plane({ key: "new", previous: "old" }, { store: failing });
  await expect(killed.step(1)).rejects.toThrow("the process is killed");
  const left = opens("old", await sealedTexts());
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(11);
  await expect(plane({ key: "new" })).rejects.toThrow(/not finished/);
  const next = await plane({ key: "new", previous: "old" });
  await next.step(2);
  await next.step(3);
  expect(opens("new", await sealedTexts())).toBe(11);
  await expect(plane({ key: "new" })).resolves.toBeDefined();
});

test("records of a slot are sealed again by its owner, and the rotation is not finished before", async () => {
  const before = await plane({ key: "old" });
  await fill(() => before.keyring.seal(Buffer.from("plain")));
  const elsewhere = new Proxy(opened.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "transaction") return typeof value === "function" ? value.bind(target) : value;
      return async (scopes: Scopes, work: (tx: Transaction) => Promise<unknown>) => {
        if (listOf(scopes).some((scope) => scope.startsWith("slot:"))) throw new NotOwner(0);
        return target.transaction(scopes, work);
      };
    },
  });
  const other = await plane({ key: "new", previous: "old" }, { store: elsewhere });
  for (const now of [1, 2, 3]) await other.step(now);
  expect(opens("old", await sealedTexts())).toBe(1);
  expect(other.logged.join()).not.toMatch(/can be removed/);
  const owner = await plane({ key: "new", previous: "old" });
  await owner.step(4);
  await other.step(5);
  expect(opens("new", await sealedTexts())).toBe(11);
  expect(other.logged.at(-1)).toMatch(/can be removed/);
});

test("while control planes are replaced one by one, each opens what another one sealed, and the new secret seals once all have it", async () => {
  const store = shared(opened.store);
  const [a, b] = [await plane({ key: "old" }, { store, instance: "a" }), await plane({ key: "old" }, { store, instance: "b" })];
  await a.step(1);
  await b.step(1);
  await a.leave();
  const newA = await plane({ key: "new", previous: "old" }, { store, instance: "a2" });
  await newA.step(2);
  const early = newA.keyring.seal(Buffer.from("plain"));
  expect(b.keyring.open(early).toString()).toBe("plain");
  await b.leave();
  const newB = await plane({ key: "new", previous: "old" }, { store, instance: "b2" });
  await newB.step(3);
  await newA.step(4);
  expect([newA.keyring.isCurrent(early), newB.keyring.open(early).toString()]).toEqual([false, "plain"]);
  expect(opens("new", [newA.keyring.seal(Buffer.from("plain")), newB.keyring.seal(Buffer.from("plain"))])).toBe(2);
  // What was sealed just before a control plane learned of the rotation is found by a later pass.
  await put("providers", { id: "prov_late", nameKey: "late", sealedCredential: early, createdAt: 1 });
  await newA.step(3 + MINUTE_MS);
  expect(newA.logged.join()).not.toMatch(/can be removed/);
  await newA.step(4 + MINUTE_MS);
  expect(newA.logged.at(-1)).toMatch(/can be removed/);
  expect(opens("new", await sealedTexts())).toBe(1);
});

test("a control plane that was silent for a minute is not waited for, and ends when it finds a root secret that it lacks", async () => {
  const store = shared(opened.store);
  const silent = await plane({ key: "old" }, { store, instance: "silent" });
  await silent.step(0);
  const other = await plane({ key: "new", previous: "old" }, { store, instance: "other" });
  await other.step(MINUTE_MS - 1);
  expect(other.keyring.fingerprint).toBe(root("old").fingerprint);
  await other.step(MINUTE_MS);
  expect(other.keyring.fingerprint).toBe(root("new").fingerprint);
  await silent.step(MINUTE_MS + 1);
  expect(silent.ended.map(String).join()).toMatch(/SECRET_KEY was rotated on another control plane/);
});

test("session tokens of the former root secret are valid as long as it is configured", async () => {
  const before = await plane({ key: "old" });
  const { token } = await createTokens(before.keyring, systemClock).sign({ sessionId: "ses_1", userId: 7 });
  const during = await plane({ key: "new", previous: "old" });
  await during.step(1);
  await during.step(2);
  const tokens = createTokens(during.keyring, systemClock);
  expect(await tokens.verify(token)).toMatchObject({ sessionId: "ses_1", userId: 7 });
  const newer = (await tokens.sign({ sessionId: "ses_2", userId: 7 })).token;
  const after = createTokens((await plane({ key: "new" })).keyring, systemClock);
  expect(await after.verify(newer)).toMatchObject({ sessionId: "ses_2" });
  await expect(after.verify(token)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});

test("a store from before stored peppers keeps the hashes of its root secret; a new one has peppers of its own", async () => {
  const fresh = await plane({ key: "first" });
  expect(fresh.keyring.tokenHash("token")).not.toBe(root("first").tokenHash("token"));
  await opened.close();
  opened = openTestStore();
  await put("users", { id: 1, email: "ada@example.org" });
  const older = await plane({ key: "first" });
  expect(older.keyring.tokenHash("token")).toBe(root("first").tokenHash("token"));
});
