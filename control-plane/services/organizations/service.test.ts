import type { UpdateOrganizationRequest } from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "../teams/service.ts";
import { organizationsHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const organizations = () => organizationsHandlers(platform.deps);
const update = (who: Who, changes: Partial<UpdateOrganizationRequest>) =>
  organizations().updateOrganization(
    { id: platform.organization.id, clearLowBalanceThreshold: false, clearSemanticCache: false, activate: false, ...changes },
    platform.as(who),
  );
const OPERATOR_ONLY = {
  anonymous: "UNAUTHORIZED",
  operator: "ok",
  owner: "FORBIDDEN",
  manager: "FORBIDDEN",
  lead: "FORBIDDEN",
  member: "FORBIDDEN",
  colleague: "FORBIDDEN",
  stranger: "FORBIDDEN",
};

test("owners and admins change an organization; for other tenants it does not exist", async () => {
  expect(await platform.outcomes((_context, who) => update(who, { name: `by ${who}` }))).toEqual({
    anonymous: "UNAUTHORIZED",
    operator: "NOT_FOUND",
    owner: "ok",
    manager: "ok",
    lead: "FORBIDDEN",
    member: "FORBIDDEN",
    colleague: "FORBIDDEN",
    stranger: "NOT_FOUND",
  });
});

test("every member may make the organization the active one of their session, without changing it", async () => {
  const { organization } = await update("colleague", { activate: true });
  expect(organization).toMatchObject({ isActive: true, name: platform.organization.name });
  expect((await platform.deps.store.get("organizations", platform.organization.id))?.updatedAt).toBe(platform.organization.updatedAt);
});

test("a user lists their own organizations with their role in each", async () => {
  const { organizations: listed } = await organizations().listOrganizations({ page: undefined }, platform.as("member"));
  const byName = Object.fromEntries(listed.map(({ name, role, isActive }) => [name, { role, isActive }]));
  expect([listed.length, byName]).toEqual([2, { member: { role: "owner", isActive: false }, owner: { role: "member", isActive: true } }]);
});

test("a time zone is an IANA name", async () => {
  expect(await outcomeOf(update("owner", { timezone: "Moon/Tranquility" }))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(update("owner", { timezone: "Europe/Berlin" }))).toBe("ok");
});

test.each(["listAllOrganizations", "setOrganizationLimits", "setOrganizationBlock"] as const)(
  "%s is for platform admins",
  async (method) => {
    const request = { page: undefined, id: platform.organization.id, blocked: false };
    expect(await platform.outcomes((context) => organizations()[method](request, context))).toEqual(OPERATOR_ONLY);
  },
);

test("a blocked organization blocks all its teams, new ones too, and no others", async () => {
  await organizations().setOrganizationBlock({ id: platform.organization.id, blocked: true }, platform.as("operator"));
  const teams = teamsHandlers(platform.deps);
  await teams.createTeam({ name: "new" }, platform.as("owner"));
  const states = async (who: Who) => (await teams.listTeams({ page: undefined }, platform.as(who))).teams.map(({ status }) => status);
  expect([await states("owner"), await states("stranger")]).toEqual([["blocked", "blocked"], ["active"]]);
  await organizations().setOrganizationBlock({ id: platform.organization.id, blocked: false }, platform.as("operator"));
  expect(await states("owner")).toEqual(["active", "active"]);
});

test("an organization that does not exist is NOT_FOUND for platform admins too", async () => {
  const request = { id: "org_none", blocked: true, limits: undefined };
  expect(await outcomeOf(organizations().setOrganizationBlock(request, platform.as("operator")))).toBe("NOT_FOUND");
  expect(await outcomeOf(organizations().setOrganizationLimits(request, platform.as("operator")))).toBe("NOT_FOUND");
});

test("the semantic cache of an organization: set whole by its owners and admins, and null leaves it to the operator", async () => {
  const semanticCache = { enabled: true, threshold: 0.95, embeddingModel: "vectors" };
  const { organization } = await update("owner", { semanticCache });
  expect(organization?.semanticCache).toEqual(semanticCache);
  expect((await update("owner", { name: "renamed" })).organization?.semanticCache).toEqual(semanticCache);
  expect((await update("owner", { semanticCache: { enabled: false } })).organization?.semanticCache).toEqual({ enabled: false });
  expect((await update("owner", { clearSemanticCache: true })).organization?.semanticCache).toBeUndefined();
  for (const threshold of [0, 1.01, Number.NaN]) {
    expect(await outcomeOf(update("owner", { semanticCache: { enabled: true, threshold } }))).toBe("VALIDATION_ERROR");
  }
  expect(await outcomeOf(update("member", { semanticCache }))).toBe("FORBIDDEN");
});
