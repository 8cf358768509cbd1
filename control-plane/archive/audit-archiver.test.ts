import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { silentLogger } from "../../common/logger.ts";
import { openFolderObjects } from "../../common/objects/folder-objects.ts";
import type { ObjectStore } from "../../common/objects/object-store.ts";
import { auditHash, CHAIN_START } from "../domain/audit.ts";
import { ARCHIVE_ACTION, AUDIT_ARCHIVE } from "../domain/audit-archive.ts";
import type { AuditEntry } from "../domain/records.ts";
import { checkAudit } from "../proof/check-audit.ts";
import { plant } from "../proof/ledger-fixture.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { writeAudit } from "../writes/audit.ts";
import { AuditArchiver } from "./audit-archiver.ts";
import { Parts } from "./parts.ts";

const NOW = Date.UTC(2026, 10, 16);
const [JULY, SEPTEMBER] = [Date.UTC(2026, 6), Date.UTC(2026, 8)];
const HOUR = 3_600_000;
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "tributary-audit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let archives = 0;
let store: Store;
let close: () => Promise<void>;
let archive: ObjectStore;
beforeEach(async () => {
  ({ store, close } = openTestStore());
  archive = openFolderObjects(join(folder, String(archives++)));
  // Two from before the chain, 25 of July, 12 of August, 8 of September.
  await store.transaction("every", async (tx) => {
    for (const id of [1, 2])
      await tx.insert("audit", { id, at: JULY, actorKind: "system", action: "old", target: "t", requestId: "", details: "{}" });
    await tx.put("counters", { id: "audit", value: 2 });
    for (let index = 0; index < 25; index++) await writeAudit(tx, input(index), JULY + index * HOUR);
    for (let index = 0; index < 20; index++) await writeAudit(tx, input(index), SEPTEMBER + (index - 12) * HOUR);
  });
});
afterEach(() => close());

const input = (index: number) =>
  ({ actorKind: "user", actorId: index, action: "key.create", target: `key_${index}`, requestId: "r" }) as const;

const archiver = (of: Store = store, auditKeptDays: number | undefined = 60) =>
  new AuditArchiver(
    {
      ...{ store: of, clock: { sleep: async () => {} }, logger: silentLogger },
      ...{ parts: new Parts({ objects: archive, workFile: join(folder, "part") }), config: { auditKeptDays } },
    },
    { partEntries: 15, entriesATransaction: 4 },
  );

const logOf = () => collect(store.scan("audit"));

async function archived(): Promise<{ keys: string[]; entries: AuditEntry[] }> {
  const keys: string[] = [];
  for await (const { key } of archive.list("")) if (key.endsWith(".jsonl.gz")) keys.push(key);
  const entries: AuditEntry[] = [];
  for (const key of keys.sort()) {
    const chunks: Buffer[] = [];
    for await (const chunk of (await archive.open(key)) ?? []) chunks.push(chunk as Buffer);
    const lines = gunzipSync(Buffer.concat(chunks)).toString().trimEnd().split("\n");
    entries.push(...lines.map((line) => JSON.parse(line) as AuditEntry));
  }
  return { keys: keys.map((key) => key.replace(/\.[0-9a-f]{16}\./, ".")), entries };
}

/** All entries of before are in the archive or the log, in one chain over both, and the log verifies. */
async function expectArchived(before: readonly AuditEntry[]): Promise<void> {
  const [{ entries: moved }, kept] = [await archived(), await logOf()];
  const unique = [...new Map([...moved, ...kept].map((entry) => [entry.id, entry])).values()].sort((left, right) => left.id - right.id);
  expect(unique.slice(0, before.length)).toEqual(before);
  expect(kept[0]?.at).toBe(SEPTEMBER);
  let previous = CHAIN_START;
  for (const { hash, ...entry } of unique.slice(2)) {
    expect(auditHash(previous, entry)).toBe(hash);
    previous = hash ?? "";
  }
  const check = await checkAudit(store, never);
  expect(check).toMatchObject({ entries: unique.length, chained: unique.length - 2, fault: undefined });
}

test("whole months before AUDIT_KEPT_DAYS are moved; the log verifies from where it begins, and its chain goes on", async () => {
  const before = await logOf();
  await archiver().run(NOW, never);
  await expectArchived(before);
  const { keys } = await archived();
  expect(keys).toEqual(["audit/2026-07/audit.1.jsonl.gz", "audit/2026-07/audit.2.jsonl.gz", "audit/2026-08/audit.1.jsonl.gz"]);
  const notes = (await logOf()).filter(({ action }) => action === ARCHIVE_ACTION);
  expect(notes.map(({ details }) => details)).toEqual(['{"to":15}', '{"to":27}', '{"to":39}']);
  await store.transaction("every", (tx) => writeAudit(tx, input(99), NOW));
  await archiver().run(NOW, never);
  expect(await checkAudit(store, never)).toMatchObject({ entries: 51, fault: undefined });
  // Months later the notes are archived themselves; the newest note covers that.
  await archiver().run(Date.UTC(2027, 3), never);
  expect(await checkAudit(store, never)).toMatchObject({ fault: undefined });
  expect((await archived()).entries.some(({ action }) => action === ARCHIVE_ACTION)).toBe(true);
});

test("without AUDIT_KEPT_DAYS, and at a control plane that does not own the anchors' slot, nothing is archived", async () => {
  const config = { auditKeptDays: undefined };
  const parts = new Parts({ objects: archive, workFile: join(folder, "part") });
  const clock = { sleep: async () => {} };
  await new AuditArchiver({ store, clock, logger: silentLogger, parts, config }).run(NOW, never);
  await archiver(new Proxy(store, { get: (of, name) => (name === "owns" ? () => false : of[name as keyof Store]) })).run(NOW, never);
  expect(await store.count("audit")).toBe(47);
});

test("a run that fails at any transaction loses nothing, and the next one goes on", async () => {
  const before = await logOf();
  let [uses, runs] = [0, 0];
  for (let step = 1; ; step++) {
    uses = 0;
    const transaction: Store["transaction"] = async (scopes, work) => {
      if (++uses === step) throw new Error("killed");
      return store.transaction(scopes, work);
    };
    const failing = new Proxy(store, {
      get: (of, name) => {
        const value = of[name as keyof Store];
        return name === "transaction" ? transaction : typeof value === "function" ? value.bind(of) : value;
      },
    });
    const failure = await archiver(failing)
      .run(NOW, never)
      .then(
        () => "",
        (error: Error) => error.message,
      );
    expect((await checkAudit(store, never)).fault).toBeUndefined();
    if (failure === "") break;
    expect(failure).toBe("killed");
    runs++;
  }
  expect(runs).toBeGreaterThan(3);
  await expectArchived(before);
});

test("a log that was changed is not archived from the changed entry's part on", async () => {
  await plant(store, "audit", 20, { target: "forged" });
  await expect(archiver().run(NOW, never)).rejects.toThrow("entry 20 of the audit log is wrong, and is not archived");
  expect(await store.get("audit", 20)).toMatchObject({ target: "forged" });
  expect((await checkAudit(store, never)).fault).toMatchObject({ kind: "chain", seq: 20 });
});

const forgeries: [name: string, kind: string, seq: number, spoil: () => Promise<void>][] = [
  ["a changed first entry", "chain", 40, () => plant(store, "audit", 40, { target: "another" })],
  ["a removed first entry", "sequence", 41, () => plant(store, "audit", 40, "removed")],
  ["another hash at the beginning", "chain", 40, () => plant(store, "auditArchives", AUDIT_ARCHIVE, { hash: "0".repeat(64) })],
  ["a beginning that is not there any more", "sequence", 40, () => plant(store, "auditArchives", AUDIT_ARCHIVE, "removed")],
  [
    "more removed than was archived, with the beginning moved",
    "sequence",
    41,
    async () => {
      const { hash } = (await store.get("audit", 41)) ?? {};
      for (const id of [40, 41]) await plant(store, "audit", id, "removed");
      await plant(store, "auditArchives", AUDIT_ARCHIVE, { seq: 41, ...(hash === undefined ? {} : { hash }) });
    },
  ],
];
test.each(forgeries)("after an archive, %s is found as %s at entry %i", async (_name, kind, seq, spoil) => {
  await archiver().run(NOW, never);
  await spoil();
  expect((await checkAudit(store, never)).fault).toMatchObject({ kind, seq });
});

test("entries that are archived while the log is checked are not missing", async () => {
  let isFirst = true;
  const scan: Store["scan"] = (...given) => {
    const found = store.scan(...given);
    if (!isFirst) return found;
    isFirst = false;
    return (async function* () {
      await archiver().run(NOW, never);
      yield* store.scan(...given);
    })();
  };
  const moving = new Proxy(store, {
    get: (of, name) => {
      const value = of[name as keyof Store];
      return name === "scan" ? scan : typeof value === "function" ? value.bind(of) : value;
    },
  });
  expect((await checkAudit(moving, never)).fault).toBeUndefined();
});

test("a restored log that went another way keeps its entries until it is archived itself", async () => {
  const all = await logOf();
  await archiver().run(NOW, never);
  await store.transaction("every", async (tx) => {
    for (const { id } of await collect(tx.scan("audit"))) await tx.remove("audit", id);
    await tx.remove("auditArchives", AUDIT_ARCHIVE);
    for (const entry of all.slice(0, 10)) await tx.put("audit", entry);
    const { hash } = all[9] ?? {};
    await tx.put("counters", { id: "audit", value: 10, ...(hash === undefined ? {} : { hash }) });
    for (let index = 0; index < 5; index++) await writeAudit(tx, input(500 + index), JULY + 20 * HOUR);
  });
  await archiver().run(NOW, never);
  expect((await checkAudit(store, never)).fault).toBeUndefined();
  const { entries } = await archived();
  for (const index of [500, 504]) expect(entries.some(({ actorId }) => actorId === index)).toBe(true);
  // The first part is of the other log from entry 11 on, so that of its groups of 4 two are removed; the rest is in a part of its own.
  const notes = (await logOf()).filter(({ action }) => action === ARCHIVE_ACTION);
  expect(notes.map(({ details }) => details)).toEqual(['{"to":8}', '{"to":15}']);
});
