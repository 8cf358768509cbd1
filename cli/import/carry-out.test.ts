import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import type { ApiRequest } from "../http/client.ts";
import { carryOut, failureOf } from "./carry-out.ts";
import type { ImportedKey, ImportedTeam, ImportPlan } from "./litellm-plan.ts";

const LIMITS = { models: ["gpt-4o"], rpm: 60, maxBudget: 5, budgetPeriod: "monthly" } as const;
const team = (name: string, limits: ImportedTeam["limits"] = LIMITS): ImportedTeam => ({ from: `from-${name}`, name, limits });
const key = (name: string, of: string): ImportedKey => ({
  team: `from-${of}`,
  name,
  sha256: "a".repeat(64),
  maskedKey: undefined,
  spend: 0,
  expiresAt: undefined,
  limits: {},
});
const plan = (teams: readonly ImportedTeam[], keys: readonly ImportedKey[] = []): ImportPlan => ({ teams, keys, notes: [] });

/** A platform with teams and keys; `fails` says which requests it refuses. */
function platform(fails: (request: ApiRequest) => CliError | undefined = () => undefined) {
  const teams: Record<string, unknown>[] = [];
  const writes: string[] = [];
  const send = async (request: ApiRequest) => {
    const { method, path, query, body } = request;
    const error = fails(request);
    if (error) throw error;
    if (method !== "GET") writes.push(`${method} ${path} ${JSON.stringify(body)}`);
    const answer = (value: unknown) => ({ status: 200, headers: new Headers(), text: "", body: value });
    if (method === "PATCH") return answer(Object.assign(teams.find(({ id }) => path.endsWith(`/${String(id)}`)) ?? {}, body));
    if (path.endsWith("/api-keys")) return answer({});
    if (method === "POST") {
      const made = { id: `team_${teams.length}`, models: null, rpm: null, maxBudget: null, budgetPeriod: null, ...(body as object) };
      teams.push(made);
      return answer({ team: made });
    }
    const from = (Number(query?.["page"] ?? 1) - 1) * 100;
    return answer({ data: teams.slice(from, from + 100) });
  };
  return { teams, writes, client: { send } };
}

const refusal = (status: number, exit: CliError["exit"] = EXIT.invalid) =>
  new CliError(exit, { error: "Refused.", code: "X", status, details: [{ path: "body.rpm", message: "is odd" }] });

test("limits that a first run could not set are set by the next, and until then the team gets no keys", async () => {
  let isDown = true;
  const { client, teams, writes } = platform(({ method }) => (method === "PATCH" && isDown ? refusal(503, EXIT.server) : undefined));
  const given = plan([team("research")], [key("prod", "research")]);
  const first = await carryOut(client, given);
  expect(first).toEqual([
    { what: "team", name: "research", result: "failed", note: "Refused. body.rpm is odd" },
    { what: "key", name: "prod", result: "failed", note: "Its team was not imported." },
  ]);
  expect(failureOf(first)).toMatchObject({ exit: EXIT.failure, facts: { error: expect.stringContaining("2 of 2 teams and keys") } });
  expect(writes).toHaveLength(1);
  isDown = false;
  const second = await carryOut(client, given);
  expect(second.map(({ result }) => result)).toEqual(["was there, limits set", "imported"]);
  expect(failureOf(second)).toBeUndefined();
  expect(teams).toEqual([{ id: "team_0", name: "research", ...LIMITS }]);
  expect((await carryOut(client, given)).map(({ result }) => result)).toEqual(["was there", "imported"]);
});

test("limits that an operator changed stay; a team is found by its name in any case, on any page", async () => {
  const { client, teams, writes } = platform();
  for (let index = 0; index < 100; index++) teams.push({ id: `other_${index}`, name: `research ${index}` });
  teams.push({ id: "mine", name: "Research", models: null, rpm: 7n, maxBudget: 9n, budgetPeriod: null });
  expect((await carryOut(client, plan([team("research")]))).map(({ result }) => result)).toEqual(["was there, limits set"]);
  expect(writes).toEqual(['PATCH /api/gw/teams/mine {"models":["gpt-4o"]}']);
});

test("what fails is a line, and the rest is imported; a key that exists was there", async () => {
  const { client } = platform(({ body }) => {
    const { name } = (body ?? {}) as { name?: string };
    return name === "bad" ? refusal(422) : name === "twice" ? refusal(409) : undefined;
  });
  const keys = [key("bad", "good"), key("twice", "good"), key("of-bad", "bad"), key("fine", "good")];
  const lines = await carryOut(client, plan([team("bad"), team("good", {})], keys));
  expect(lines.map(({ what, name, result }) => `${what} ${name}: ${result}`)).toEqual([
    "team bad: failed",
    "team good: imported",
    "key bad: failed",
    "key twice: was there",
    "key of-bad: failed",
    "key fine: imported",
  ]);
});

test("a log-in that ended, or Ctrl-C, ends the import", async () => {
  for (const exit of [EXIT.notLoggedIn, EXIT.interrupted]) {
    const { client } = platform(() => refusal(401, exit));
    await expect(carryOut(client, plan([team("a")]))).rejects.toMatchObject({ exit });
  }
});
