import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { mcpHandlers } from "./service.ts";

let platform: Platform;
const open = async (environment: Record<string, string> = {}) => {
  await platform?.close();
  platform = await openPlatform(environment);
};
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const mcp = () => mcpHandlers(platform.deps);
const HEADERS = { authorization: "Bearer secret-of-the-server" };
const given = { name: "weather", url: "https://example.org/mcp", headers: HEADERS, allowedTools: undefined, pricePerCall: 5n };
type Changes = Partial<Parameters<ReturnType<typeof mcp>["createServer"]>[0]>;
const create = (who: Who, changes: Changes = {}) => mcp().createServer({ ...given, teamId: undefined, ...changes }, platform.as(who));
const found = async (organizationId: string, teamId: string) =>
  (await mcp().findServers({ organizationId, teamId }, platform.as("anonymous"))).servers;

const MANAGERS_ONLY = { owner: "ok", manager: "ok", lead: "FORBIDDEN", member: "FORBIDDEN", colleague: "FORBIDDEN" };

test("owners and admins of an organization register MCP servers", async () => {
  let count = 0;
  expect(await platform.outcomes((_context, who) => create(who, { name: `server-${++count}` }))).toEqual({
    ...MANAGERS_ONLY,
    anonymous: "UNAUTHORIZED",
    operator: "ok",
    stranger: "ok",
  });
});

test("an MCP server of another organization is NOT_FOUND, of the own one for owners and admins", async () => {
  let count = 0;
  const outcomes = await platform.outcomes(async (context) => {
    const { server } = await create("owner", { name: `server-${++count}` });
    return mcp().deleteServer({ id: server?.id ?? "" }, context);
  });
  expect(outcomes).toEqual({ ...MANAGERS_ONLY, anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND" });
});

test.each<[string, Changes]>([
  ["an http address of an exposed platform", { url: "http://example.org" }],
  ["a private address of an exposed platform", { url: "https://10.0.0.1/mcp" }],
  ["a metadata service", { url: "https://169.254.169.254/mcp" }],
  ["an address with a password", { url: "https://user:secret@example.org" }],
  ["a name with an underscore", { name: "my__server" }],
  ["a header of the connection", { headers: { Host: "example.org" } }],
  ["a header with a line break", { headers: { authorization: "a\r\nhost: b" } }],
  ["a header twice", { headers: { "X-Key": "a", "x-key": "b" } }],
  ["a negative price", { pricePerCall: -1n }],
])("an MCP server with %s is refused", async (_name, changes) => {
  await open({ PUBLIC_URL: "https://gateway.example.org" });
  expect(await outcomeOf(create("owner"))).toBe("ok");
  expect(await outcomeOf(create("owner", { name: "other", ...changes }))).toBe("VALIDATION_ERROR");
});

test("a name is unique in its organization", async () => {
  await create("owner");
  expect(await outcomeOf(create("manager"))).toBe("ALREADY_EXISTS");
  expect(await outcomeOf(create("stranger"))).toBe("ok");
});

test("an organization has at most 20 MCP servers", async () => {
  for (let count = 0; count < 20; count++) await create("owner", { name: `server-${count}` });
  expect(await outcomeOf(create("owner"))).toBe("VALIDATION_ERROR");
});

test("headers are stored sealed, shown by name only, and opened for edges", async () => {
  const { server } = await create("owner");
  const { servers } = await mcp().listServers({ page: undefined }, platform.as("owner"));
  expect(servers).toMatchObject([{ id: server?.id, headerNames: ["authorization"] }]);
  const stored = await platform.deps.store.get("mcpServers", server?.id ?? "");
  const shown = JSON.stringify([server, servers, stored], (_name, value) => (typeof value === "bigint" ? Number(value) : value));
  expect(shown).not.toContain("secret-of-the-server");
  expect(await found(server?.organizationId ?? "", "")).toMatchObject([{ name: "weather", headers: HEADERS, pricePerCall: 5n }]);
});

test("edges find the servers of an organization, those of a team only for that team", async () => {
  const { server } = await create("owner");
  const organizationId = server?.organizationId ?? "";
  const [team] = await Array.fromAsync(platform.deps.store.scan("teams", { index: "byOrganization", equals: [organizationId] }));
  await create("owner", { name: "of-the-team", teamId: team?.id });
  const names = async (organization: string, teamId: string) => (await found(organization, teamId)).map(({ name }) => name);
  expect(await names(organizationId, team?.id ?? "")).toEqual(["of-the-team", "weather"]);
  expect(await names(organizationId, "team_other")).toEqual(["weather"]);
  expect(await names("org_other", team?.id ?? "")).toEqual([]);
  expect(await outcomeOf(create("stranger", { teamId: team?.id }))).toBe("NOT_FOUND");
});
