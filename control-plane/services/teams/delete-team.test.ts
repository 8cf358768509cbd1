import { secretSha256 } from "../../../common/key-shape.ts";
import { callerOfHash, callerOfKeyId } from "../access/callers.ts";
import { keysHandlers } from "../keys/service.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const teams = () => teamsHandlers(platform.deps);
const keys = () => keysHandlers(platform.deps);
const newTeam = async (name: string) => (await teams().createTeam({ name }, platform.as("owner"))).team?.id ?? "";
const deleteTeam = (who: Who, id = platform.team.id) => teams().deleteTeam({ id }, platform.as(who));
const newKey = async (who: Who, teamId = platform.team.id) => {
  const { apiKey, key } = await keys().createKey({ name: "k", teamId, limits: undefined }, platform.as(who));
  return { id: apiKey?.id ?? "", secret: key };
};
const callerOf = (secret: string) => callerOfHash(platform.deps, platform.deps.secrets.keyHash(secretSha256(secret)));
const put = (record: object) => platform.deps.store.transaction("every", (tx) => tx.put("records", record as never));

const NO_ACCESS = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", colleague: "NOT_FOUND", stranger: "NOT_FOUND" };

test("owners of the team and managers of the organization delete a team, but not the last one", async () => {
  expect(await outcomeOf(deleteTeam("owner"))).toBe("VALIDATION_ERROR");
  await newTeam("Other");
  const outcomes = await platform.outcomes(async (_context, who) => {
    if (who === "owner" || who === "manager") return deleteTeam(who, await newTeam(`for ${who}`));
    return deleteTeam(who);
  });
  expect(outcomes).toEqual({ ...NO_ACCESS, owner: "ok", manager: "ok", lead: "FORBIDDEN", member: "FORBIDDEN" });
});

test("with a team go its keys, members, invitations and stored objects; a plain member of no other team leaves the organization", async () => {
  const { store } = platform.deps;
  await newTeam("Other");
  const key = await newKey("member");
  await teams().inviteMember({ teamId: platform.team.id, email: "new@example.org", role: "member" }, platform.as("owner"));
  const { id: teamId, organizationId } = platform.team;
  const record = {
    id: "file_1",
    kind: "file",
    teamId,
    organizationId,
    keyId: key.id,
    scope: `${teamId}/file/`,
    body: "{}",
    revision: 1,
    sequence: 1,
  };
  await put({ ...record, createdAt: 1, dueAt: 5 });
  expect(await outcomeOf(deleteTeam("owner"))).toBe("VALIDATION_ERROR");
  expect(await callerOf(key.secret)).toBeDefined();
  await put({ ...record, createdAt: 1 });
  await put({ ...record, id: "resp_1", kind: "response", scope: `${teamId}/response/`, countedBytes: 30, createdAt: 1 });
  await store.transaction("every", async (tx) => {
    await tx.put("contents", { id: `${teamId}/file_1`, bytes: 40 });
    await tx.put("storage", { id: organizationId, fileBytes: 100, recordBytes: 70 });
  });

  expect(await deleteTeam("owner")).toEqual({ revokedKeys: [key.id] });
  expect(await callerOf(key.secret)).toBeUndefined();
  expect(await store.get("records", "file_1")).toBeUndefined();
  expect(await store.get("storage", organizationId)).toMatchObject({ fileBytes: 60, recordBytes: 40 });
  expect(await store.get("contents", `${teamId}/file_1`)).toBeUndefined();
  expect(await store.count("teamMembers", { index: "byTeam", equals: [teamId] })).toBe(0);
  expect(await store.count("invitations", { index: "byTeamAndEmail", equals: [teamId] })).toBe(0);
  expect(await store.get("organizationMembers", `${organizationId}/${platform.users.member.id}`)).toBeUndefined();
  expect(await outcomeOf(teams().getTeam({ id: teamId }, platform.as("owner")))).toBe("NOT_FOUND");
});

test("a key moves to a team of its organization that its creator is in, with its secret, and nowhere else", async () => {
  const other = await newTeam("Other");
  const key = await newKey("member");
  const move = (who: Who, teamId: string) => keys().transferKey({ reference: key.id, teamId }, platform.as(who));
  expect(await outcomeOf(move("member", other))).toBe("NOT_FOUND");
  expect(await outcomeOf(move("owner", other))).toBe("VALIDATION_ERROR");
  await teams().inviteMember({ teamId: other, email: "member@example.org", role: "member" }, platform.as("owner"));
  expect((await move("member", other)).apiKey).toMatchObject({ id: key.id, teamId: other, teamName: "Other" });
  expect(await callerOf(key.secret)).toMatchObject({ keyId: key.id, teamId: other });
  const { team: foreign } = await teams().createTeam({ name: "Foreign" }, platform.as("stranger"));
  const { invitationLink = "" } = await teams().inviteMember(
    { teamId: foreign?.id ?? "", email: "owner@example.org", role: "member" },
    platform.as("stranger"),
  );
  await teams().acceptInvitation({ token: new URL(invitationLink).searchParams.get("token") ?? "" }, platform.as("owner"));
  expect(await outcomeOf(move("owner", foreign?.id ?? ""))).toBe("VALIDATION_ERROR");
});

test("records that only expire do not keep a team from being deleted; beyond what one transaction removes they stay, unreadable", async () => {
  const { store } = platform.deps;
  await newTeam("Other");
  const { id: teamId, organizationId } = platform.team;
  const common = { teamId, organizationId, keyId: "key_1", body: "{}", revision: 1, createdAt: 1, expiresAt: 1e15 };
  const fill = (kind: string, count: number, parentId = "") =>
    store.transaction("every", async (tx) => {
      for (let sequence = 0; sequence < count; sequence++) {
        const record = { ...common, id: `${kind}_${sequence}`, kind, parentId, scope: `${teamId}/${kind}/${parentId}`, sequence };
        await tx.put("records", record as never);
      }
    });
  const left = () => store.count("records", { index: "byTeam", equals: [teamId] });
  await fill("container", 1900);
  await fill("response_events", 200, "response_1");
  for (const kind of ["assistant", "conversation", "thread"]) await fill(kind, 2);
  expect(await outcomeOf(deleteTeam("owner"))).toBe("ok");
  expect(await left()).toBe(2106 - 2000);
  const [stayed] = await Array.fromAsync(store.scan("records", { index: "byTeam", equals: [teamId], limit: 1 }));
  expect(stayed).toMatchObject({ kind: "response_events", expiresAt: 1e15 });
  expect(await callerOfKeyId(platform.deps, "key_1")).toBeUndefined();
});

test("a team with more than 2,000 objects that can be deleted is not deleted", async () => {
  const { store } = platform.deps;
  await newTeam("Other");
  const { id: teamId, organizationId } = platform.team;
  const common = {
    kind: "response",
    teamId,
    organizationId,
    keyId: "key_1",
    scope: `${teamId}/response/`,
    body: "{}",
    revision: 1,
    createdAt: 1,
  };
  await store.transaction("every", async (tx) => {
    for (let sequence = 0; sequence < 2001; sequence++) await tx.put("records", { ...common, id: `resp_${sequence}`, sequence } as never);
  });
  await expect(deleteTeam("owner")).rejects.toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("2000") });
  expect(await store.count("records", { index: "byTeam", equals: [teamId] })).toBe(2001);
});

test.each(["run", "response", "batch", "vector_store_file"])(
  "a key does not move while a %s that it pays is not finished",
  async (kind) => {
    const { id: teamId, organizationId } = platform.team;
    const [other, key, another] = [await newTeam("Other"), await newKey("owner"), await newKey("owner")];
    const record = { id: "work_1", kind, teamId, organizationId, scope: "s", body: "{}", revision: 1, sequence: 1, createdAt: 1 };
    const move = ({ id }: { id: string }) => keys().transferKey({ reference: id, teamId: other }, platform.as("owner"));
    await put({ ...record, keyId: key.id, dueAt: 5 });
    await expect(move(key)).rejects.toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining(`not finished (${kind})`) });
    expect(await callerOf(key.secret)).toMatchObject({ teamId });
    expect(await outcomeOf(move(another))).toBe("ok");
    await put({ ...record, keyId: key.id });
    expect(await outcomeOf(move(key))).toBe("ok");
  },
);
