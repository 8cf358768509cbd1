import { createHash } from "node:crypto";
import type { FakeClock } from "../../access/clock-fixture.ts";
import type { NewRecord, Owner, RecordStore, RecordWrite } from "./records.ts";

export interface RecordsUnderTest {
  readonly records: RecordStore;
  readonly clock: FakeClock;
  close(): Promise<void>;
}

/** Owners with a valid key of team_1, a key of the blocked team_2, and a key that does not exist. */
export const OWNER: Owner = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
export const BLOCKED: Owner = { teamId: "team_2", organizationId: "org_1", keyId: "key_2" };
const KEYLESS: Owner = { ...OWNER, keyId: "key_gone" };

/** The contract suite of the record store. */
export function recordsContract(name: string, open: () => Promise<RecordsUnderTest>): void {
  describe(`records in ${name}`, () => {
    let subject: RecordsUnderTest;
    let records: RecordStore;
    beforeEach(async () => {
      subject = await open();
      records = subject.records;
    });
    afterEach(() => subject.close());

    const create = (id: string, fields: Partial<NewRecord> = {}): RecordWrite => ({
      ...{ type: "create", kind: "run", id, body: { id }, createdAtMs: 1000 },
      ...fields,
    });
    const put = (id: string, fields: Partial<Extract<RecordWrite, { type: "put" }>> = {}): RecordWrite => ({
      ...{ type: "put", kind: "run", id, body: "new" },
      ...fields,
    });
    const claim = (token: string, limit = 10) => records.claim(["run"], { claim: token, leaseMs: 1000, limit });

    test("a record comes back as it was written, to its team and under its kind only", async () => {
      const body = { text: "ünï 💧", nested: [1, null, { a: true }] };
      const [written] = await records.commit(OWNER, [create("run_1", { body, expiresAtMs: 9_999_999_999_999 })]);
      const read = await records.get("team_1", "run", "run_1");
      expect(read).toEqual(written);
      expect(read).toMatchObject({
        ...OWNER,
        body,
        kind: "run",
        parentId: "",
        revision: 1n,
        createdAtMs: 1000,
        expiresAtMs: 9_999_999_999_999,
      });
      expect(await records.get("team_2", "run", "run_1")).toBeUndefined();
      expect(await records.get("team_1", "thread", "run_1")).toBeUndefined();
    });

    test("a commit is all or nothing: one refused write leaves none of the others", async () => {
      await records.commit(OWNER, [create("run_1")]);
      await expect(records.commit(OWNER, [put("run_1"), create("run_2"), create("run_1")])).rejects.toMatchObject({
        code: "ALREADY_EXISTS",
      });
      await expect(records.commit(OWNER, [put("run_1"), put("run_9")])).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(records.commit(BLOCKED, [put("run_1")])).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await records.get("team_1", "run", "run_1")).toMatchObject({ body: { id: "run_1" }, revision: 1n });
      expect(await records.get("team_1", "run", "run_2")).toBeUndefined();
    });

    test("of racing writes that expect the same revision one wins, the others get RECORD_CHANGED", async () => {
      await records.commit(OWNER, [create("run_1")]);
      const races = Array.from({ length: 8 }, () => records.commit(OWNER, [put("run_1", { expectedRevision: 1n })]));
      const outcomes = await Promise.allSettled(races);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "RECORD_CHANGED" } });
      const removal = records.commit(OWNER, [{ type: "remove", kind: "run", id: "run_1", expectedRevision: 1n }]);
      await expect(removal).rejects.toMatchObject({ code: "RECORD_CHANGED" });
    });

    test("lists are in the order of creation, by parent, in pages forwards and backwards", async () => {
      const ids = ["m1", "m2", "m3", "m4", "m5"];
      await records.commit(
        OWNER,
        ids.map((id) => create(id, { kind: "message", parentId: "thread_1" })),
      );
      await records.commit(OWNER, [create("other", { kind: "message", parentId: "thread_2" }), create("top", { kind: "message" })]);
      const page = async (query: { order: "asc" | "desc"; after?: string; before?: string; limit: number }) => {
        const { records: found, hasMore } = await records.list("team_1", "message", { parentId: "thread_1", ...query });
        return [found.map(({ id }) => id).join(" "), hasMore];
      };
      expect(await page({ order: "asc", limit: 3 })).toEqual(["m1 m2 m3", true]);
      expect(await page({ order: "asc", after: "m3", limit: 3 })).toEqual(["m4 m5", false]);
      expect(await page({ order: "desc", limit: 2 })).toEqual(["m5 m4", true]);
      expect(await page({ order: "desc", after: "m4", limit: 3 })).toEqual(["m3 m2 m1", false]);
      expect(await page({ order: "asc", before: "m4", limit: 2 })).toEqual(["m2 m3", true]);
      expect(await page({ order: "desc", before: "m2", limit: 5 })).toEqual(["m5 m4 m3", false]);
      expect(await page({ order: "asc", after: "m1", before: "m4", limit: 5 })).toEqual(["m2 m3", false]);
      expect((await records.list("team_1", "message", { order: "asc", limit: 9 })).records.map(({ id }) => id)).toEqual(["top"]);
      await expect(page({ order: "asc", after: "nope", limit: 3 })).rejects.toMatchObject({ code: "INVALID_REQUEST", param: "after" });
      await expect(page({ order: "asc", before: "other", limit: 3 })).rejects.toMatchObject({ code: "INVALID_REQUEST", param: "before" });
    });

    test("a list goes on after a record that was removed meanwhile, as a client that deletes what it lists asks for", async () => {
      const ids = ["m1", "m2", "m3", "m4", "m5"];
      const inThread = { kind: "message", parentId: "thread_1" } as const;
      const remove = (id: string) => records.commit(OWNER, [{ type: "remove", kind: "message", id }]);
      await records.commit(
        OWNER,
        ids.map((id) => create(id, inThread)),
      );
      await records.commit(OWNER, [create("other", { kind: "message", parentId: "thread_2" })]);
      for (const id of ["m2", "m4", "other"]) await remove(id);
      const page = async (query: { order: "asc" | "desc"; after?: string; before?: string; limit: number }) => {
        const { records: found, hasMore } = await records.list("team_1", "message", { parentId: "thread_1", ...query });
        return [found.map(({ id }) => id).join(" "), hasMore];
      };
      expect(await page({ order: "asc", after: "m2", limit: 1 })).toEqual(["m3", true]);
      expect(await page({ order: "desc", after: "m4", limit: 2 })).toEqual(["m3 m1", false]);
      expect(await page({ order: "asc", before: "m4", limit: 1 })).toEqual(["m3", true]);
      expect(await page({ order: "asc", after: "m1", before: "m4", limit: 5 })).toEqual(["m3", false]);
      expect(await page({ order: "desc", after: "m5", before: "m2", limit: 5 })).toEqual(["m3", false]);
      await expect(page({ order: "asc", after: "other", limit: 3 })).rejects.toMatchObject({ code: "INVALID_REQUEST", param: "after" });
      await expect(records.list("team_2", "message", { ...inThread, order: "asc", after: "m2", limit: 3 })).rejects.toMatchObject({
        code: "INVALID_REQUEST",
      });
      await records.commit(OWNER, [create("m2", inThread)]);
      expect(await page({ order: "asc", after: "m5", limit: 3 })).toEqual(["m2", false]);
      expect(await page({ order: "asc", after: "m2", limit: 3 })).toEqual(["", false]);
    });

    test("a page of records that are too large for one message comes whole", async () => {
      for (let index = 0; index < 6; index++) await records.commit(OWNER, [create(`run_${index}`, { body: "x".repeat(1_500_000) })]);
      for (const order of ["asc", "desc"] as const) {
        const { records: found, hasMore } = await records.list<string>("team_1", "run", { order, limit: 5 });
        expect([found.length, hasMore, found.every(({ body }) => body.length === 1_500_000)]).toEqual([5, true, true]);
      }
      const { records: last } = await records.list("team_1", "run", { order: "asc", before: "run_5", limit: 4 });
      expect(last.map(({ id }) => id)).toEqual(["run_1", "run_2", "run_3", "run_4"]);
    });

    test("a record is removed alone or with everything below it", async () => {
      await records.commit(OWNER, [
        create("thread_1", { kind: "thread" }),
        create("msg_1", { kind: "message", parentId: "thread_1" }),
        create("run_1", { parentId: "thread_1" }),
        create("step_1", { kind: "run_step", parentId: "run_1" }),
        create("thread_2", { kind: "thread" }),
        create("msg_2", { kind: "message", parentId: "thread_2" }),
      ]);
      const [removed] = await records.commit(OWNER, [{ type: "remove", kind: "thread", id: "thread_1", withChildren: true }]);
      expect(removed).toMatchObject({ id: "thread_1", body: undefined });
      expect(await records.get("team_1", "run_step", "step_1")).toBeUndefined();
      expect(await records.get("team_1", "message", "msg_1")).toBeUndefined();
      await records.commit(OWNER, [{ type: "remove", kind: "thread", id: "thread_2" }]);
      expect(await records.get("team_1", "message", "msg_2")).toMatchObject({ parentId: "thread_2" });
    });

    test("due work is claimed once, oldest first, and again when its lease has run out", async () => {
      const now = subject.clock.now();
      await records.commit(OWNER, [
        create("late", { dueAtMs: now - 1 }),
        create("early", { dueAtMs: now - 9 }),
        create("later", { dueAtMs: now + 5 }),
      ]);
      await records.commit(OWNER, [create("none"), create("file_1", { kind: "file", dueAtMs: now - 99 })]);
      expect((await claim("a", 1)).map(({ record }) => record.id)).toEqual(["early"]);
      const [first, ...rest] = await claim("b");
      expect(first?.record).toMatchObject({ id: "late", claim: "b", dueAtMs: now + 1000, revision: 1n });
      expect(rest).toEqual([]);
      await subject.clock.advance(999);
      expect((await claim("c")).map(({ record }) => record.id)).toEqual(["later"]);
      await subject.clock.advance(1);
      expect((await claim("d")).map(({ record }) => record.id).toSorted()).toEqual(["early", "late"]);
    });

    test("of concurrent claims each record goes to one", async () => {
      const now = subject.clock.now();
      await records.commit(
        OWNER,
        Array.from({ length: 5 }, (_, index) => create(`run_${index}`, { dueAtMs: now })),
      );
      const claims = await Promise.all(Array.from({ length: 6 }, (_, index) => claim(`c${index}`, 2)));
      const ids = claims.flat().map(({ record }) => record.id);
      expect(ids.toSorted()).toEqual(["run_0", "run_1", "run_2", "run_3", "run_4"]);
    });

    test("claimed work comes with its caller: a blocked team's has that status, a removed key has none", async () => {
      const dueAtMs = subject.clock.now();
      await records.commit(OWNER, [create("run_1", { dueAtMs })]);
      await records.commit(BLOCKED, [create("run_2", { dueAtMs })]);
      await records.commit(KEYLESS, [create("run_3", { dueAtMs })]);
      const callers = new Map((await claim("a")).map(({ record, caller }) => [record.id, caller]));
      expect(callers.get("run_1")).toMatchObject({ keyId: "key_1", teamId: "team_1", status: "active" });
      expect(callers.get("run_2")).toMatchObject({ keyId: "key_2", status: "team_blocked" });
      expect([callers.has("run_3"), callers.get("run_3")]).toEqual([true, undefined]);
    });

    test("a lease is renewed only with its claim, and the renewal returns what was written meanwhile", async () => {
      await records.commit(OWNER, [create("run_1", { dueAtMs: subject.clock.now() })]);
      await claim("a");
      await subject.clock.advance(600);
      await records.commit(OWNER, [put("run_1", { body: "cancelling", expectedRevision: 1n, keepWork: true })]);
      const held = { kind: "run", id: "run_1", claim: "a" } as const;
      expect(await records.renew(held, 1000)).toMatchObject({
        record: { body: "cancelling", revision: 2n, claim: "a", dueAtMs: subject.clock.now() + 1000 },
        caller: { keyId: "key_1", status: "active" },
      });
      expect(await records.renew({ ...held, claim: "b" }, 1000)).toBeUndefined();
      await subject.clock.advance(999);
      expect(await claim("b")).toEqual([]);
      await subject.clock.advance(1);
      expect(await claim("b")).toHaveLength(1);
      expect(await records.renew(held, 1000)).toBeUndefined();
      await records.commit(OWNER, [{ type: "remove", kind: "run", id: "run_1" }]);
      expect(await records.renew({ ...held, claim: "b" }, 1000)).toBeUndefined();
    });

    test("a write with a lost or unknown claim is refused", async () => {
      const dueAtMs = subject.clock.now();
      await records.commit(OWNER, [create("run_1", { dueAtMs })]);
      await claim("a");
      for (const fields of [{}, { claim: "b", dueAtMs }, { claim: "b", expectedRevision: 1n }, { claim: "b", keepWork: true }]) {
        await expect(records.commit(OWNER, [put("run_1", fields)])).rejects.toMatchObject({ code: "RECORD_CHANGED" });
      }
      await subject.clock.advance(1000);
      await claim("b");
      await expect(records.commit(OWNER, [put("run_1", { claim: "a" })])).rejects.toMatchObject({ code: "RECORD_CHANGED" });
      await records.commit(OWNER, [put("run_1", { claim: "b" })]);
      // The work is done and unclaimed. A write with the lost claim is still refused, because it names no revision.
      await expect(records.commit(OWNER, [put("run_1", { claim: "a" })])).rejects.toMatchObject({ code: "RECORD_CHANGED" });
    });

    test("a record below claimed work is created only while the claim is held and the work exists", async () => {
      await records.commit(OWNER, [create("run_1", { dueAtMs: subject.clock.now() })]);
      await claim("a");
      const step = (id: string, token: string) =>
        records.commit(OWNER, [
          { type: "held", kind: "run", id: "run_1", claim: token },
          create(id, { kind: "run_step", parentId: "run_1" }),
        ]);
      const [held, created] = await step("step_1", "a");
      expect([held, created]).toMatchObject([{ id: "run_1", revision: 1n, claim: "a" }, { id: "step_1" }]);
      await subject.clock.advance(1000);
      await claim("b");
      await expect(step("step_2", "a")).rejects.toMatchObject({ code: "RECORD_CHANGED" });
      await records.commit(OWNER, [{ type: "remove", kind: "run", id: "run_1", withChildren: true }]);
      await expect(step("step_2", "b")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await records.get("team_1", "run_step", "step_2")).toBeUndefined();
    });

    test("a write under a claim keeps the work with a later due time, releases it with a past one, and ends it without one", async () => {
      const now = subject.clock.now();
      await records.commit(OWNER, [create("run_1", { dueAtMs: now + 1000, claim: "a" })]);
      expect(await claim("b")).toEqual([]);
      const [renewed] = await records.commit(OWNER, [put("run_1", { claim: "a", dueAtMs: now + 500 })]);
      expect(renewed).toMatchObject({ claim: "a", dueAtMs: now + 500 });
      const [progress] = await records.commit(OWNER, [put("run_1", { claim: "a", keepWork: true, body: "half" })]);
      expect(progress).toMatchObject({ claim: "a", dueAtMs: now + 500, body: "half" });
      await records.commit(OWNER, [put("run_1", { claim: "a", dueAtMs: now })]);
      expect(await claim("b")).toHaveLength(1);
      const [done] = await records.commit(OWNER, [put("run_1", { claim: "b" })]);
      expect([done?.claim, done?.dueAtMs]).toEqual([undefined, undefined]);
      await subject.clock.advance(5000);
      expect(await claim("c")).toEqual([]);
    });

    test("unclaimed work is claimed by a write with a claim and the expected revision", async () => {
      await records.commit(OWNER, [create("run_1")]);
      const take = put("run_1", { claim: "a", dueAtMs: subject.clock.now() + 1000, expectedRevision: 1n });
      expect((await records.commit(OWNER, [take]))[0]).toMatchObject({ claim: "a", revision: 2n });
      await expect(records.commit(OWNER, [take])).rejects.toMatchObject({ code: "RECORD_CHANGED" });
    });

    test("content comes back byte by byte, from an offset too, to its team only, and goes with its record", async () => {
      const bytes = Buffer.alloc(1_300_000, "tributary ");
      const written = await records.putContent("team_1", "file_1", chunksOf(bytes));
      expect(written).toEqual({ bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") });
      await records.commit(OWNER, [create("file_1", { kind: "file" })]);
      expect((await contentOf(records, "team_1", "file_1"))?.equals(bytes)).toBe(true);
      expect((await contentOf(records, "team_1", "file_1", 1_000_001))?.equals(bytes.subarray(1_000_001))).toBe(true);
      expect(await contentOf(records, "team_2", "file_1")).toBeUndefined();
      await records.putContent("team_1", "empty", chunksOf(Buffer.alloc(0)));
      expect((await contentOf(records, "team_1", "empty"))?.length).toBe(0);
      await records.commit(OWNER, [{ type: "remove", kind: "file", id: "file_1" }]);
      expect(await contentOf(records, "team_1", "file_1")).toBeUndefined();
    });

    test("content whose source fails is not stored, and the source's error is thrown", async () => {
      await expect(records.putContent("team_1", "file_1", broken())).rejects.toThrow("cut");
      expect(await contentOf(records, "team_1", "file_1")).toBeUndefined();
    });
  });
}

async function contentOf(records: RecordStore, teamId: string, id: string, offset?: number): Promise<Buffer | undefined> {
  const content = await records.getContent(teamId, id, offset);
  if (!content) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 400_000) yield bytes.subarray(start, start + 400_000);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(300_000);
  throw new Error("cut");
}
