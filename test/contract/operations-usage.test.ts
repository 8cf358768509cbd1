import { type Answer, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError } from "./support.ts";

let system: System;
let tenant: Tenant;
let second: { teamId: string; key: string; keyId: string; keyHash: string };
let ask: Ask;
let calls: Answer[];

/** Eight calls: six by the first key, two by a second team's, one of these for an end user and one streamed. */
beforeAll(async () => {
  system = await startSystem();
  tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  ask = (method, path, options) => call(system.url, method, path, options);
  const team = await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "Second" } });
  const key = await ask("POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "key two", team_id: team.body.team.id } });
  second = { teamId: team.body.team.id, key: key.body.key, keyId: key.body.apiKey.id, keyHash: key.body.apiKey.token };
  calls = [];
  for (let index = 0; index < 6; index++) calls.push(await chat(system, tenant.key, `call number ${index}`));
  calls.push(await chat(system, second.key, "for a person", { user: "person-17" }));
  calls.push(await chat(system, second.key, "in pieces please", { stream: true }));
});
afterAll(() => system.stop());

const logs = (query = "", token = tenant.token) => ask("GET", `/api/gw/logs${query}`, { token });
const usage = (query = "", token = tenant.token) => ask("GET", `/api/gw/usage${query}`, { token });
const ids = (answer: Answer): string[] => answer.body.data.map(({ id }: { id: string }) => id);

describe("logs", () => {
  test("every call is there once, newest first, in the record's shape, under the id its answer had", async () => {
    const answer = await logs("?pageSize=100");
    records.expectShape(records.listOf(records.usageLog), answer.body);
    expect(ids(answer)).toEqual(calls.map(({ headers }) => headers.get("x-gw-call-id")).reverse());
    expect(answer.body.data.every((log: { id: string; callId: string }) => log.id === log.callId)).toBe(true);
    const [streamed, forPerson, plain] = answer.body.data;
    expect(streamed).toMatchObject({ stream: true, firstTokenMs: expect.any(Number), team_id: second.teamId, teamId: second.teamId });
    expect(forPerson).toMatchObject({ endUser: "person-17", apiKeyId: second.keyId, apiKeyName: "key two", teamName: "Second" });
    expect(plain).toMatchObject({
      organizationId: tenant.organizationId,
      apiKeyId: tenant.keyId,
      userId: tenant.userId,
      endUser: null,
      model: "echo",
      provider: "echo",
      type: "chat",
      stream: false,
      status: "success",
      httpStatus: 200,
      errorCode: null,
      cacheHit: false,
      attempts: 1,
      fallbackFrom: null,
      providerModel: "echo",
      usage: { input: 3, output: 3, total: 6, cachedInput: 0, reasoning: 0, source: "provider" },
      cost: Number(calls[5]?.headers.get("x-gw-cost-nano")),
    });
  });

  test("their totals equal the ledger and the sum of their rows", async () => {
    const { data, meta } = (await logs("?pageSize=100")).body;
    const sum = (pick: (log: { cost: number; usage: { total: number } }) => number) =>
      data.map(pick).reduce((a: number, b: number) => a + b, 0);
    expect(meta.totals).toMatchObject({ requests: data.length, tokens: sum(({ usage }) => usage.total), cost: sum(({ cost }) => cost) });
    const ledger = await ask("GET", "/api/credits/ledger?type=usage&pageSize=100", { token: tenant.token });
    expect(ledger.body.data.reduce((total: number, { amount }: { amount: number }) => total - amount, 0)).toBe(meta.totals.cost);
    expect(meta.total).toBe(data.length);
    expect((await ask("GET", "/api/quota", { token: tenant.token })).body.quota.totalUsed).toBe(meta.totals.cost);
    const bySeq = new Map(ledger.body.data.map((entry: { seq: number; callId: string }) => [entry.seq, entry.callId]));
    for (const log of data) expect(bySeq.get(log.ledgerSeq)).toBe(log.callId);
  });

  test("one call is found by its id; a missing one is 404", async () => {
    const id = calls[0]?.headers.get("x-gw-call-id") ?? "";
    const answer = await ask("GET", `/api/gw/logs/${id}`, { token: tenant.token });
    expect(answer.status).toBe(200);
    records.expectShape(records.usageLog, answer.body.log);
    expect(answer.body.log.id).toBe(id);
    expectError(await ask("GET", "/api/gw/logs/call_nothing", { token: tenant.token }), 404, "NOT_FOUND");
  });

  test("the key is named by id, hash or secret", async () => {
    for (const reference of [second.keyId, second.keyHash, second.key]) {
      const answer = await logs(`?apiKey=${reference}`);
      expect(ids(answer)).toHaveLength(2);
      expect(answer.body.meta.totals.requests).toBe(2);
      expect(ids(await logs(`?api_key=${reference}`))).toHaveLength(2);
    }
    expectError(await logs("?apiKey=key_nothing"), 404, "NOT_FOUND");
    expectError(await logs("?apiKey=sk-nothing"), 404, "NOT_FOUND");
  });

  const narrowed: [string, () => string, number][] = [
    ["team_id", () => second.teamId, 2],
    ["teamId", () => tenant.teamId, 6],
    ["model", () => "echo", 8],
    ["model", () => "other", 0],
    ["provider", () => "echo", 8],
    ["provider", () => "other", 0],
    ["status", () => "success", 8],
    ["status", () => "error", 0],
    ["search", () => "person-17", 1],
    ["search", () => "KEY TWO", 2],
    ["search", () => ".*", 0],
  ];
  test.each(narrowed)("%s narrows rows and totals alike", async (field, value, expected) => {
    const answer = await logs(`?${field}=${encodeURIComponent(value())}&pageSize=100`);
    expect([answer.status, ids(answer).length, answer.body.meta.totals.requests, answer.body.meta.total]).toEqual([
      200,
      expected,
      expected,
      expected,
    ]);
  });

  test("dates are days of the time zone, the end included; moments are exact", async () => {
    const at: string[] = (await logs("?pageSize=100")).body.data.map(({ createdAt }: { createdAt: string }) => createdAt);
    const count = async (query: string) => {
      const { body } = await logs(`?${query}&pageSize=100`);
      expect(body.meta.totals.requests).toBe(body.data.length);
      return body.data.length;
    };
    const day = (zone: string, shift = 0) =>
      new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(Date.parse(at[0] ?? "") + shift * 86_400_000);
    for (const zone of ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"]) {
      const inside = at.filter(
        (moment) => new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(new Date(moment)) === day(zone),
      ).length;
      expect(await count(`startDate=${day(zone)}&endDate=${day(zone)}&tz=${zone}`)).toBe(inside);
      expect(await count(`startDate=${day(zone, 1)}&tz=${zone}`)).toBe(0);
      expect(await count(`endDate=${day(zone, -2)}&tz=${zone}`)).toBe(0);
    }
    const middle = at[3] ?? "";
    expect(await count(`startDate=${middle}`)).toBe(at.filter((moment) => moment >= middle).length);
    expect(await count(`endDate=${middle}`)).toBe(at.filter((moment) => moment < middle).length);
  });

  test.each([
    ["startDate", "startDate=yesterday"],
    ["startDate", "startDate=2026-02-30"],
    ["endDate", "startDate=2026-02-02&endDate=2026-02-01"],
    ["tz", "tz=Mars/Olympus"],
    ["status", "status=nice"],
    ["format", "format=xml"],
    ["cursor", "cursor=invented"],
  ])("a wrong %s is 400", async (path, query) => {
    expectError(await logs(`?${query}`), 400, "VALIDATION_ERROR", path);
  });

  test("a walk by cursor meets every row exactly once", async () => {
    const all = ids(await logs("?pageSize=100"));
    for (const size of [1, 3, 8]) {
      const seen: string[] = [];
      let next: string | null = null;
      do {
        const answer: Answer = await logs(`?pageSize=${size}${next === null ? "" : `&cursor=${encodeURIComponent(next)}`}`);
        seen.push(...ids(answer));
        next = answer.body.meta.nextCursor;
        expect(answer.body.meta.totals.requests).toBe(all.length);
      } while (next !== null && seen.length < 100);
      expect(seen).toEqual(all);
    }
  });

  test("CSV has a header, one line for each row, and the same totals", async () => {
    const csv = await logs(`?format=csv&team_id=${tenant.teamId}`);
    const json = await logs(`?team_id=${tenant.teamId}&pageSize=100`);
    expect(csv.headers.get("content-type")).toMatch(/^text\/csv/);
    const [header = "", ...lines] = csv.text.trimEnd().split("\r\n");
    const columns = header.split(",");
    const column = (line: string, name: string) => line.split(",")[columns.indexOf(name)] ?? "";
    expect(lines.map((line) => column(line, "id"))).toEqual(ids(json));
    const sum = (name: string) => lines.reduce((total, line) => total + Number(column(line, name)), 0);
    expect({ requests: lines.length, tokens: sum("totalTokens"), cost: sum("cost") }).toEqual({
      requests: json.body.meta.totals.requests,
      tokens: json.body.meta.totals.tokens,
      cost: json.body.meta.totals.cost,
    });
    expectError(await logs("?format=csv&team_id=team_nothing"), 404, "NOT_FOUND");
  });

  test("text that a spreadsheet would run is made harmless, commas and quotes survive", async () => {
    const owner = await newTenant(system, { creditNano: 100_000_000 });
    await chat(system, owner.key, "x", { user: '=HYPERLINK("http://evil","a,b")' });
    const csv = await logs("?format=csv", owner.token);
    expect(csv.text).toContain(`"'=HYPERLINK(""http://evil"",""a,b"")"`);
  });

  test("members see only the calls of their teams", async () => {
    const member = await newTenant(system);
    await joinTeam(system, { from: tenant, guest: member, teamId: second.teamId });
    await ask("PUT", "/api/gw/organizations", { token: member.token, body: { id: tenant.organizationId, active: true } });
    const seen = await logs("?pageSize=100", member.token);
    expect([ids(seen).length, seen.body.meta.totals.requests]).toEqual([2, 2]);
    expectError(await ask("GET", `/api/gw/logs/${calls[0]?.headers.get("x-gw-call-id")}`, { token: member.token }), 404, "NOT_FOUND");
    expect((await usage("", member.token)).body.meta.totals.requests).toBe(2);
  });
});

describe("usage", () => {
  test("its buckets and totals equal the log's", async () => {
    const { totals } = (await logs()).body.meta;
    for (const query of [
      "",
      "?groupBy=model",
      "?groupBy=team",
      "?groupBy=key",
      "?groupBy=status",
      "?groupBy=user",
      "?groupBy=provider",
      "?groupBy=hour",
      "?groupBy=month",
    ]) {
      const answer = await usage(query);
      expect(answer.status).toBe(200);
      for (const bucket of answer.body.data) records.expectShape(records.usageBucket, bucket);
      expect(answer.body.meta.totals).toEqual(totals);
      const sum = (name: string) =>
        answer.body.data.reduce((total: number, bucket: Record<string, number>) => total + (bucket[name] ?? 0), 0);
      expect({ requests: sum("requests"), tokens: sum("total"), cost: sum("cost") }).toMatchObject({
        requests: totals.requests,
        tokens: totals.tokens,
        cost: totals.cost,
      });
    }
  });

  test("its latencies are those of the log", async () => {
    const latencies: number[] = (await logs("?pageSize=100")).body.data.map(({ latencyMs }: { latencyMs: number }) => latencyMs);
    const [bucket] = (await usage("?groupBy=none&interval=all")).body.data;
    expect([bucket.latencyCount, bucket.latencyMsSum]).toEqual([latencies.length, latencies.reduce((sum, latency) => sum + latency, 0)]);
    expect(bucket.latencyMsP95).toBeGreaterThanOrEqual(bucket.latencyMsP50);
  });

  test("groups are what they say", async () => {
    const groups = async (groupBy: string) =>
      Object.fromEntries(
        (await usage(`?groupBy=${groupBy}&interval=all`)).body.data.map((bucket: { group: string; requests: number }) => [
          bucket.group,
          bucket.requests,
        ]),
      );
    expect(await groups("team")).toEqual({ [tenant.teamId]: 6, [second.teamId]: 2 });
    expect(await groups("key")).toEqual({ [tenant.keyId]: 6, [second.keyId]: 2 });
    expect(await groups("model")).toEqual({ echo: 8 });
  });

  test("days are those of the time zone", async () => {
    for (const tz of ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"]) {
      const { data } = (await usage(`?groupBy=day&tz=${tz}`)).body;
      const days = new Set(calls.map(({ body, headers }) => new Date(body ? body.created * 1000 : Date.parse(headers.get("date") ?? ""))));
      const expected = new Set([...days].map((moment) => new Intl.DateTimeFormat("sv-SE", { timeZone: tz }).format(moment)));
      expect(new Set(data.map(({ bucket }: { bucket: string }) => bucket.slice(0, 10)))).toEqual(expected);
    }
  });

  test.each([
    ["groupBy", "groupBy=colour"],
    ["tz", "tz=nowhere"],
    ["interval", "interval=fortnight"],
    ["startDate", "startDate=x"],
  ])("a wrong %s is 400", async (path, query) => {
    expectError(await usage(`?${query}`), 400, "VALIDATION_ERROR", path);
  });
});

test("a refused call is a row with status refused, its code and its reason, at no cost", async () => {
  const before = (await usage()).body.meta.totals;
  const body = { model: "no-such-model", messages: [{ role: "user", content: "hello" }] };
  const refused = await ask("POST", "/v1/chat/completions", { key: tenant.key, body });
  const [row] = (await logs("?status=refused")).body.data;
  expect(row).toMatchObject({ status: "refused", cost: 0, model: "no-such-model", httpStatus: 404, errorCode: "MODEL_NOT_FOUND" });
  expect([row.callId, row.reason, row.refused]).toEqual([refused.headers.get("x-gw-call-id"), refused.body.error.message, 1]);
  expect((await logs()).body.meta.totals.refused).toBe(1);
  expect((await usage()).body.meta.totals).toEqual({ ...before, refused: 1 });
});
