import fc from "fast-check";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { CHECKPOINTS, checkpointHash } from "../domain/checkpoints.ts";
import type { Checkpoint } from "../domain/ledger-records.ts";
import { checkpointWhenDue } from "../jobs/checkpoint-ledger.ts";
import { checkChains, checkLedger } from "../services/ledger/verify.ts";
import type { CollectionName } from "../stores/collections.ts";
import { divideLedger } from "../stores/migrations/0002-ledger-slots.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { anchorHeads } from "../writes/anchors.ts";
import { writeCheckpoint } from "../writes/checkpoints.ts";
import { DAY, fillLedger, LEDGER_COLLECTIONS, plant, purchase, QUARTER, reportedCall, settle } from "./ledger-fixture.ts";
import { Verifications } from "./verifications.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;

const full = (store: Store) => checkLedger(store, signal);
const fast = (store: Store) => checkLedger(store, signal, { isFast: true });

async function checkpoint(store: Store, at: number): Promise<Checkpoint | undefined> {
  const after = (await store.get("counters", CHECKPOINTS))?.value ?? 0;
  await anchorHeads(store, () => at);
  const { newest, ledger, fault } = await checkChains(store, signal, { isFast: true });
  expect(fault).toBeUndefined();
  return writeCheckpoint(store, { newest, ...ledger, after }, at);
}

/** Two checkpoints, with entries before, between and after them: the last entry of org_1 before the second, and the first after it. */
async function withCheckpoints(work: (store: Store, at: { before: number; after: number }) => Promise<void>, slots = 1): Promise<void> {
  const { store, close } = openTestStore({ slots });
  try {
    for (const id of ["org_1", "org_2"])
      await store.transaction("every", (tx) => tx.put("organizations", { id, name: id, createdAt: 1 } as never));
    await fillLedger(store);
    await checkpoint(store, DAY + QUARTER);
    await settle(store, [reportedCall("call_6", 6n, { createdAt: DAY + 4 * QUARTER })]);
    const before = (await store.get("usage", "call_6"))?.ledgerSeq ?? 0;
    await checkpoint(store, DAY + 8 * QUARTER);
    const calls = ["org_1", "org_2"].map((organizationId) =>
      reportedCall(`call_7_${organizationId}`, 7n, { organizationId, createdAt: DAY + 9 * QUARTER }),
    );
    await settle(store, calls);
    const after = (await store.get("usage", "call_7_org_1"))?.ledgerSeq ?? 0;
    await anchorHeads(store, () => DAY + 9 * QUARTER);
    await work(store, { before, after });
  } finally {
    await close();
  }
}

test.each([1, 4])("of %i slots: the full check proves the checkpoints, the fast one begins at the last; both count all entries", (slots) =>
  withCheckpoints(async (store) => {
    const [whole, since] = [await full(store), await fast(store)];
    expect(whole).toMatchObject({ ok: true, firstBad: undefined, entries: 9n, checkpoint: undefined });
    expect(since).toMatchObject({
      ok: true,
      firstBad: undefined,
      entries: 9n,
      checkpoint: { number: 2n, at: new Date(DAY + 8 * QUARTER) },
    });
    const { usageRows, rollups, checkpoint: _, ...rest } = since;
    expect(whole).toMatchObject(rest);
    expect([usageRows, rollups]).toEqual([2n, 2n]);
  }, slots),
);

test("a changed entry before the checkpoint is found by the full check, not by the fast one", () =>
  withCheckpoints(async (store, { before }) => {
    await plant(store, "ledger", before, { note: "forged" });
    expect((await full(store)).firstBad).toMatchObject({ kind: "chain", seq: BigInt(before) });
    expect(await fast(store)).toMatchObject({ ok: true });
  }));

const damages: [name: string, kind: string, spoil: (store: Store, seq: number) => Promise<void>][] = [
  ["a changed note", "chain", (store, seq) => plant(store, "ledger", seq, { note: "forged" })],
  ["a changed amount", "chain", (store, seq) => plant(store, "ledger", seq, { amount: 8n })],
  ["a removed entry", "sequence", (store, seq) => plant(store, "ledger", seq, "removed")],
  ["a changed row", "content", (store) => plant(store, "usage", "call_7_org_1", { model: "other" })],
  ["a removed row", "usage", (store) => plant(store, "usage", "call_7_org_1", "removed")],
  ["a removed newest anchor", "anchor", (store) => plant(store, "anchors", 3, "removed")],
];
test.each(damages)("%s after the checkpoint is found as %s by both checks", (_name, kind, spoil) =>
  withCheckpoints(async (store, { after }) => {
    await spoil(store, after);
    const [whole, since] = [await full(store), await fast(store)];
    expect([whole.firstBad, since.firstBad]).toMatchObject([{ kind }, { kind }]);
    expect(since.firstBad).toEqual(whole.firstBad);
  }),
);

test("a changed balance is found by both; the full check names the account, also of one without entries since the checkpoint", async () => {
  for (const field of ["balance", "used"] as const) {
    await withCheckpoints(async (store) => {
      await plant(store, "accounts", "org:org_2", { [field]: 5n });
      expect((await full(store)).firstBad).toMatchObject({ kind: "balance", record: "account org:org_2" });
      expect((await fast(store)).firstBad).toMatchObject({ kind: "balance", record: "accounts" });
    });
  }
});

/** Changes a checkpoint and makes its hash, the counter's, and those of the checkpoints after it anew. */
async function forge(store: Store, id: number, changes: Partial<Checkpoint>): Promise<void> {
  await store.transaction("every", async (tx) => {
    let previous = "0".repeat(64);
    for (const found of await collect(tx.scan("checkpoints"))) {
      const { hash: _, ...content } = { ...found, ...(found.id === id ? changes : {}), previous };
      previous = checkpointHash(content);
      await tx.put("checkpoints", { ...content, hash: previous });
      await tx.put("counters", { id: CHECKPOINTS, value: content.id, hash: previous });
    }
  });
}

const forgeries: [name: string, record: string, reason: RegExp, spoil: (store: Store) => Promise<void>][] = [
  ["changed", "checkpoint 2", /content does not have its hash/, (store) => plant(store, "checkpoints", 2, { entries: 1 })],
  ["removed", "checkpoint 2", /checkpoint 1 is missing/, (store) => plant(store, "checkpoints", 1, "removed")],
  ["removed, the newest", "checkpoint 2", /end at 1, the newest is 2/, (store) => plant(store, "checkpoints", 2, "removed")],
  ["with another number of entries", "checkpoint 2", /counts 70 entries, there are 7/, (store) => forge(store, 2, { entries: 70 })],
  ["with other accounts", "checkpoint 1", /accounts .* are not those/, (store) => forge(store, 1, { accountsHash: "0".repeat(64) })],
  ["with another head", "checkpoint 1", /head: the head's hash is not/, (store) => forge(store, 1, { heads: [[0, 6, "0".repeat(64)]] })],
  ["with a head that is not there", "checkpoint 2", /ends at 9, its head says 99/, (store) => forge(store, 2, { heads: [[0, 99, "0"]] })],
  ["with another anchor", "checkpoint 2", /anchor 2, which it names, has another hash/, (store) => forge(store, 2, { anchorHash: "0" })],
];
test.each(forgeries)("a checkpoint that is forged (%s) is found by the full check", (_name, record, reason, spoil) =>
  withCheckpoints(async (store) => {
    await spoil(store);
    expect(await full(store)).toMatchObject({ ok: false, firstBad: { kind: "checkpoint", record, reason: expect.stringMatching(reason) } });
  }),
);

test("the fast check does not begin at a checkpoint that the ledger contradicts", async () => {
  for (const [, record, , spoil] of forgeries) {
    if (record !== "checkpoint 2") continue;
    await withCheckpoints(async (store) => {
      await spoil(store);
      const { ok, firstBad, entries } = await fast(store);
      // It takes the newest checkpoint's count as right, and does not read the one before it.
      const isBlind = entries === 72n || (await store.get("checkpoints", 1)) === undefined;
      expect(ok).toBe(isBlind);
      if (!isBlind) expect(firstBad).toMatchObject({ kind: "checkpoint", record });
    });
  }
});

test("whatever is posted, anchored and checkpointed in whatever order, both checks hold and count the same", async () => {
  const step = fc.oneof({ weight: 3, arbitrary: fc.nat(5) }, fc.constant("anchor" as const), fc.constant("checkpoint" as const));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.constantFrom(1, 4), async (steps, slots) => {
      const { store, close } = openTestStore({ slots });
      try {
        for (const [index, given] of steps.entries()) {
          const at = DAY + index * QUARTER;
          if (given === "anchor") await anchorHeads(store, () => at);
          else if (given === "checkpoint") await checkpoint(store, at);
          else await purchase(store, { organizationId: `org_${given}`, amount: 10n, reference: `ref_${index}` });
        }
        const { checkpoint: _, usageRows: _rows, rollups: _rollups, ...since } = await fast(store);
        expect(since).toMatchObject({ ok: true, firstBad: undefined });
        expect(await full(store)).toMatchObject(since);
      } finally {
        await close();
      }
    }),
    { numRuns: 25 },
  );
});

test("checkpoints of a store of one slot are proved after it was divided; the fast check begins at the first one after that", () =>
  withCheckpoints(async (source) => {
    const { store, close } = openTestStore({ slots: 4 });
    try {
      const names: CollectionName[] = [...LEDGER_COLLECTIONS, "ledgerHead", "anchors", "checkpoints", "counters"];
      await store.transaction("every", async (tx) => {
        for (const name of names) for (const record of await collect(source.scan(name))) await tx.put(name, record);
        await divideLedger(tx);
      });
      expect(await full(store)).toMatchObject({ ok: true, entries: 9n });
      expect(await fast(store)).toMatchObject({ ok: true, entries: 9n, checkpoint: undefined });
      const organizationId = ["org_1", "org_2", "org_3"].find((id) => slotOf(id, 4) !== 0) ?? "";
      await purchase(store, { organizationId, amount: 10n, reference: "later" });
      await checkpoint(store, DAY + 10 * QUARTER);
      await purchase(store, { organizationId, amount: 10n, reference: "last" });
      expect(await full(store)).toMatchObject({ ok: true, entries: 11n, firstBad: undefined });
      expect(await fast(store)).toMatchObject({ ok: true, entries: 11n, checkpoint: { number: 3n } });
      await forge(store, 1, { accountsHash: "0".repeat(64) });
      expect((await full(store)).firstBad).toMatchObject({ kind: "checkpoint", record: "checkpoint 1" });
    } finally {
      await close();
    }
  }));

test("of two checks that ended at once, one writes a checkpoint", () =>
  withCheckpoints(async (store) => {
    const { newest, ledger } = await checkChains(store, signal, { isFast: true });
    const write = () => writeCheckpoint(store, { newest, ...ledger, after: 2 }, DAY);
    const written = await Promise.all([write(), write()]);
    expect(written.map((one) => one?.id)).toEqual([3, undefined]);
    expect(await full(store)).toMatchObject({ ok: true });
  }));

test("a checkpoint is written when it is due, of a valid ledger only", () =>
  withCheckpoints(async (store, { after }) => {
    const verifications = new Verifications();
    const run = (now: number, ledgerCheckpointHours = 24) =>
      checkpointWhenDue(now, { store, logger: silentLogger, verifications, config: { ledgerCheckpointHours } }, signal);
    const due = DAY + 8 * QUARTER + 24 * HOUR;
    await run(due - 1);
    await run(due, 0);
    expect(await store.count("checkpoints")).toBe(2);
    await run(due);
    await run(due);
    expect((await collect(store.scan("checkpoints"))).map(({ at }) => at)).toEqual([DAY + QUARTER, DAY + 8 * QUARTER, due]);
    await settle(store, [reportedCall("call_8", 8n)]);
    await plant(store, "ledger", after + 2, { note: "forged" });
    await run(due + 24 * HOUR);
    expect(await store.count("checkpoints")).toBe(3);
    expect(verifications.figures).toEqual({ ok: 1, failed: 1 });
  }));

test("a new ledger gets its first checkpoint when its first anchor is old enough", async () => {
  const { store, close } = openTestStore();
  try {
    const deps = { store, logger: silentLogger, verifications: new Verifications(), config: { ledgerCheckpointHours: 24 } };
    await checkpointWhenDue(DAY, deps, signal);
    await fillLedger(store);
    await anchorHeads(store, () => DAY);
    await checkpointWhenDue(DAY + 23 * HOUR, deps, signal);
    expect(await store.count("checkpoints")).toBe(0);
    await checkpointWhenDue(DAY + 24 * HOUR, deps, signal);
    expect(await fast(store)).toMatchObject({ ok: true, checkpoint: { number: 1n } });
  } finally {
    await close();
  }
});
