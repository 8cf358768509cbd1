import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, buy, call, chat } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";
import { balanceOf, expectConsistentLedger, expectLedgerVerifies, setBalance } from "./ledger-checks.ts";

/** The echo model: 1,000 nano-USD a token in, 2,000 a token out. */
const ONE_USD = 1_000_000_000;
const ONE_WORD_NANO = 3_000;
const UNBLOCKED_MS_MAX = 1_000;

interface Customer {
  email: string;
  password: string;
  token: string;
  organizationId: string;
  teamId: string;
  key: string;
  keyId: string;
}

/** A call as its client saw it. */
interface SeenCall {
  callId: string;
  costNano: number;
  tokens: { input: number; output: number };
  stream: boolean;
}

/** From the first visit to a restart of everything. `start` begins anew on the same data each time; the settings may differ. */
export async function lifeOfACustomer(start: (env?: Readonly<Record<string, string>>) => Promise<System>): Promise<void> {
  let system = await start();
  try {
    const customer = await joinUp(system);
    await buyFirstCredits(system, customer);
    const seen = await callInEveryWay(system, customer);
    await checkBooks(system, customer, seen);
    await fallBelowZeroAndReturn(system, customer);
    await stopAtExactlyZero(system, customer);
    const before = await expectConsistentLedger(system, customer.token);

    await system.stop();
    system = await start({ CREDIT_POLICY: "strict" });
    expect(await expectConsistentLedger(system, customer.token)).toEqual(before);
    await everythingIsStillThere(system, customer);
    await strictRefusesWhatMightNotFit(system, customer);
    await expectLedgerVerifies(system);
  } finally {
    await system.stop();
  }
}

async function joinUp(system: System): Promise<Customer> {
  const [email, password] = [`ada-${Date.now()}@example.org`, "the password of ada"];
  const signup = await call(system.url, "POST", "/api/auth/signup", { body: { email, password, name: "Ada" } });
  expect(signup).toMatchObject({ status: 201, body: { user: { email, role: "user" }, organization: { balance: 0 } } });
  const session = await call(system.url, "POST", "/api/auth/token", { body: { email, password } });
  expect(session.status).toBe(200);
  const { token } = session.body;
  const team = await call(system.url, "POST", "/api/gw/teams", { token, body: { name: "Engines" } });
  expect(team).toMatchObject({ status: 201, body: { team: { name: "Engines", status: "active", keyCount: 0 } } });
  const teamId = team.body.team.id;
  const made = await call(system.url, "POST", "/api/gw/api-keys", { token, body: { name: "first", team_id: teamId } });
  expect(made).toMatchObject({ status: 201, body: { apiKey: { team_id: teamId, status: "active" }, key: expect.stringMatching(/^sk-/) } });
  const { key, apiKey } = made.body;
  return { email, password, token, organizationId: signup.body.organization.id, teamId, key, keyId: apiKey.id };
}

async function buyFirstCredits(system: System, { token, key }: Customer): Promise<void> {
  expect(await chat(system, key, "too early")).toMatchObject({
    status: 429,
    body: { error: { code: "QUOTA_EXCEEDED", type: "insufficient_quota" } },
  });
  const bought = await call(system.url, "POST", "/api/credits/purchase", { token, body: { amountUsd: "1", method: "test" } });
  expect(bought).toMatchObject({ status: 201, body: { purchase: { amount: ONE_USD, status: "completed" }, balance: ONE_USD } });
}

/** Every credential header, with and without streaming, each with another number of tokens. */
async function callInEveryWay(system: System, { key }: Customer): Promise<SeenCall[]> {
  const credentialHeaders: Record<string, string>[] = [
    { "x-gw-api-key": key },
    { authorization: `Bearer ${key}` },
    { "x-api-key": key },
    { "api-key": key },
  ];
  const seen: SeenCall[] = [];
  for (const [index, headers] of credentialHeaders.entries()) {
    for (const stream of [false, true]) {
      const content = "word ".repeat(2 * index + (stream ? 2 : 1)).trim();
      const body = {
        model: "echo",
        messages: [{ role: "user", content }],
        ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
      };
      const answer = await call(system.url, "POST", "/v1/chat/completions", { headers, body });
      expect(answer.status).toBe(200);
      const call_ = stream ? readStream(answer, content) : readWhole(answer, content);
      const words = content.split(" ").length;
      expect(call_).toMatchObject({ tokens: { input: words, output: words }, costNano: words * ONE_WORD_NANO });
      seen.push(call_);
    }
  }
  return seen;
}

function readWhole({ headers, body }: Answer, content: string): SeenCall {
  expect(body.choices[0]).toMatchObject({ message: { content }, finish_reason: "stop" });
  const tokens = { input: body.usage.prompt_tokens, output: body.usage.completion_tokens };
  return { callId: headers.get("x-gw-call-id") ?? "", costNano: Number(headers.get("x-gw-cost-nano")), tokens, stream: false };
}

function readStream({ headers, text }: Answer, content: string): SeenCall {
  const frames = text.split("\n\n").flatMap((frame) => (frame.startsWith("data: ") ? [frame.slice(6)] : []));
  expect(frames.at(-1)).toBe("[DONE]");
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame));
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe(content);
  const { usage, cost_nano: costNano } = chunks.at(-1);
  const tokens = { input: usage.prompt_tokens, output: usage.completion_tokens };
  return { callId: headers.get("x-gw-call-id") ?? "", costNano, tokens, stream: true };
}

async function checkBooks(system: System, customer: Customer, seen: readonly SeenCall[]): Promise<void> {
  const { logs, balance } = await expectConsistentLedger(system, customer.token);
  const expected = seen.map(({ callId, costNano, tokens, stream }) => ({
    callId,
    stream,
    cost: costNano,
    usage: expect.objectContaining({ ...tokens, source: "provider" }),
    teamId: customer.teamId,
    apiKeyId: customer.keyId,
    status: "success",
  }));
  expect(logs).toHaveLength(seen.length);
  expect(logs.toReversed()).toMatchObject(expected);
  expect(ONE_USD - balance).toBe(seen.reduce((total, { costNano }) => total + costNano, 0));
  const one = await call(system.url, "GET", `/api/gw/logs/${seen[0]?.callId}`, { token: customer.token });
  expect(one.body.log).toMatchObject({ callId: seen[0]?.callId, cost: seen[0]?.costNano });
}

/** The document's policy: the last call may take the balance below zero; that blocks the team until somebody buys. */
async function fallBelowZeroAndReturn(system: System, customer: Customer): Promise<void> {
  await setBalance(system, customer, 500);
  const last = await chat(system, customer.key, "one");
  expect(last.status).toBe(200);
  expect(await balanceOf(system, customer.token)).toBe(500 - ONE_WORD_NANO);
  const blocked = await untilAnswered(() => chat(system, customer.key, "refused"), 403);
  expect(blocked.answer).toMatchObject({ status: 403, body: { error: { code: "TEAM_BLOCKED", type: "permission_denied_error" } } });
  expect(blocked.answer.headers.get("x-should-retry")).toBe("false");
  const team = await call(system.url, "GET", `/api/gw/teams/${customer.teamId}`, { token: customer.token });
  expect(team.body.team).toMatchObject({ status: "blocked", blockedReason: "quota" });

  await buy(system, customer.token, ONE_USD);
  const back = await untilAnswered(() => chat(system, customer.key, "back"), 200);
  expect(back.answer.status).toBe(200);
  expect(back.tookMs).toBeLessThan(UNBLOCKED_MS_MAX);
}

async function stopAtExactlyZero(system: System, customer: Customer): Promise<void> {
  await setBalance(system, customer, ONE_WORD_NANO);
  expect((await chat(system, customer.key, "last", { max_tokens: 1 })).status).toBe(200);
  expect(await balanceOf(system, customer.token)).toBe(0);
  const refused = await chat(system, customer.key, "nothing left");
  expect(refused).toMatchObject({ status: 429, body: { error: { code: "QUOTA_EXCEEDED", type: "insufficient_quota" } } });
  expect(refused.headers.get("x-should-retry")).toBe("false");
  const team = await call(system.url, "GET", `/api/gw/teams/${customer.teamId}`, { token: customer.token });
  expect(team.body.team.status).toBe("active");
}

async function everythingIsStillThere(system: System, customer: Customer): Promise<void> {
  const { email, password, token, teamId, keyId } = customer;
  expect((await call(system.url, "POST", "/api/auth/token", { body: { email, password } })).status).toBe(200);
  expect((await call(system.url, "GET", "/api/auth/me", { token })).body.user.email).toBe(email);
  const team = await call(system.url, "GET", `/api/gw/teams/${teamId}`, { token });
  expect(team.body.team).toMatchObject({ name: "Engines", apiKeys: [{ id: keyId, name: "first" }] });
}

/** The strict policy: what might cost more than is left is refused before it is sent, so the balance stays at or above zero. */
async function strictRefusesWhatMightNotFit(system: System, customer: Customer): Promise<void> {
  await setBalance(system, customer, ONE_WORD_NANO);
  const refused = await chat(system, customer.key, "word", { max_tokens: 2 });
  expect(refused).toMatchObject({ status: 429, body: { error: { code: "QUOTA_EXCEEDED" } } });
  expect(await balanceOf(system, customer.token)).toBe(ONE_WORD_NANO);
  expect((await chat(system, customer.key, "word", { max_tokens: 1 })).status).toBe(200);
  expect(await balanceOf(system, customer.token)).toBe(0);
}

/** Asks until the answer has this status, for one second more than it may take. */
async function untilAnswered(ask: () => Promise<Answer>, status: number): Promise<{ answer: Answer; tookMs: number }> {
  const startedAt = performance.now();
  for (;;) {
    const answer = await ask();
    const tookMs = performance.now() - startedAt;
    if (answer.status === status || tookMs > 2 * UNBLOCKED_MS_MAX) return { answer, tookMs };
    await sleep(20);
  }
}
