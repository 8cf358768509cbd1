import { plant } from "../../proof/ledger-fixture.ts";
import { writeAudit } from "../../writes/audit.ts";
import { identityHandlers } from "../identity/service.ts";
import { NOW, openPlatform, PASSWORD, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "../teams/service.ts";
import { auditHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const audit = () => auditHandlers(platform.deps);
type ListRequest = Parameters<ReturnType<typeof audit>["listAudit"]>[0];
const list = (filter: Partial<ListRequest>, who: Who = "operator") =>
  audit().listAudit({ page: undefined, start: undefined, end: undefined, ownOrganization: false, ...filter }, platform.as(who));
const createTeam = (who: Who, name: string) => teamsHandlers(platform.deps).createTeam({ name }, platform.as(who));

test("only platform admins verify the log; a changed entry is named", async () => {
  const { anonymous, operator, ...others } = await platform.outcomes((context) => audit().verifyAudit({}, context));
  expect([anonymous, operator, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
  for (const name of ["a", "b", "c"]) await createTeam("owner", name);
  const sound = await audit().verifyAudit({}, platform.as("operator"));
  expect(sound).toEqual({
    ok: true,
    entries: 3n,
    chained: 3n,
    lastSeq: 3n,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    firstBad: undefined,
  });
  await plant(platform.deps.store, "audit", 2, { actorId: 999 });
  expect(await audit().verifyAudit({}, platform.as("operator"))).toMatchObject({ ok: false, firstBad: { seq: 2n, kind: "chain" } });
});

test("entries are found by person, action and time, newest first", async () => {
  await createTeam("owner", "a");
  await platform.advance(1_000);
  await createTeam("manager", "b");
  await createTeam("owner", "c");
  const found = async (filter: Partial<ListRequest>) => (await list(filter)).entries.map(({ seq }) => Number(seq));
  expect(await found({})).toEqual([3, 2, 1]);
  expect(await found({ actorId: BigInt(platform.users.owner.id) })).toEqual([3, 1]);
  expect(await found({ action: "team.delete" })).toEqual([]);
  expect(await found({ start: new Date(NOW + 1_000) })).toEqual([3, 2]);
  expect(await found({ end: new Date(NOW + 1_000) })).toEqual([1]);
  expect((await list({ action: "team.create", page: { page: 2, pageSize: 2 } })).meta).toMatchObject({ page: 2, total: 3, totalPages: 2 });
});

test("an export reads every matching entry once, oldest first, in bounded parts", async () => {
  const entry = { actorKind: "system", target: "t", requestId: "" } as const;
  await platform.deps.store.transaction("every", async (tx) => {
    for (let index = 1; index <= 7_000; index++) await writeAudit(tx, { ...entry, action: index % 2 ? "odd" : "even" }, index);
  });
  const read = async (filter: Partial<ListRequest>) => {
    const [seqs, parts]: [number[], number[]] = [[], []];
    for (let afterSeq: bigint | undefined = 0n; afterSeq !== undefined; ) {
      const { entries, nextSeq }: Awaited<ReturnType<typeof list>> = await list({ ...filter, afterSeq });
      seqs.push(...entries.map(({ seq }) => Number(seq)));
      parts.push(entries.length);
      afterSeq = nextSeq;
    }
    return { seqs, parts };
  };
  const everything = await read({});
  expect(everything.seqs).toEqual(Array.from({ length: 7_000 }, (_, index) => index + 1));
  expect(Math.max(...everything.parts)).toBe(1_000);
  expect((await read({ action: "odd" })).seqs).toHaveLength(3_500);
  expect(await read({ action: "none" })).toEqual({ seqs: [], parts: [0, 0] });
});

test("a log-in names the person", async () => {
  const { email, id } = platform.users.member;
  await identityHandlers(platform.deps).createToken({ email, password: PASSWORD }, platform.as("anonymous"));
  expect((await list({})).entries[0]).toMatchObject({ action: "session.open", actorKind: "user", actorId: BigInt(id), actorEmail: email });
});

test("owners read the entries of their own organization, as pages and exports, and no other ones", async () => {
  await createTeam("owner", "a");
  await createTeam("stranger", "b");
  for (const more of [{}, { afterSeq: 0n }, { organizationId: platform.organization.id }]) {
    const request = { ...more, ownOrganization: true };
    expect(await platform.outcomes((_context, who) => list(request, who))).toEqual({
      anonymous: "UNAUTHORIZED",
      operator: "ok",
      owner: "ok",
      manager: "FORBIDDEN",
      lead: "FORBIDDEN",
      member: "FORBIDDEN",
      colleague: "FORBIDDEN",
      stranger: "ok",
    });
    const seqsOf = async (who: Who) => (await list(request, who)).entries.map(({ seq }) => seq);
    expect(await Promise.all((["owner", "stranger", "operator"] as const).map(seqsOf))).toEqual([[1n], [2n], []]);
  }
  const { anonymous, operator, ...others } = await platform.outcomes((_context, who) => list({}, who));
  expect([anonymous, operator, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
});
