import { type APIError, BadRequestError, PermissionDeniedError, RateLimitError } from "openai";
import { type Bench, nodeClient, startBench, until, user } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";
import { deploymentId } from "./gateway-config.ts";

let bench: Bench;

/** Begun at once: both clients wait for their next minute while the other cases run. */
let waiting: Promise<{ refused: APIError | undefined; answer: string | null | undefined; attempts: number; waitedMs: number }>;

beforeAll(async () => {
  bench = await startBench();
  waiting = spendAndWait();
  waiting.catch(() => {});
});
afterAll(() => bench?.stop());

const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error) as Promise<APIError>;

async function spendAndWait() {
  const impatient = nodeClient(bench, { apiKey: bench.limitedKeys[0] ?? "", maxRetries: 0 });
  const ask = async ({ openai }: typeof impatient) =>
    (await openai.chat.completions.create({ model: "oai", messages: user("hi") })).choices[0]?.message.content;
  let refused: APIError | undefined;
  for (let call = 0; call < 5 && !refused; call++) {
    refused = await ask(impatient).then(
      () => undefined,
      (error: APIError) => error,
    );
  }
  // The client's own retries do the waiting.
  const patient = nodeClient(bench, { apiKey: bench.limitedKeys[0] ?? "", maxRetries: 3 });
  const startedAt = Date.now();
  const answer = await ask(patient);
  return { refused, answer, attempts: patient.attempts, waitedMs: Date.now() - startedAt };
}

testCases(
  "openai-node",
  {
    R2: async () => {
      const blocked = nodeClient(bench, { apiKey: bench.blockedKey });
      const denied = await failure(blocked.openai.chat.completions.create({ model: "oai", messages: user("hi") }));
      expect(denied).toBeInstanceOf(PermissionDeniedError);
      expect([denied.code, denied.headers?.get("x-should-retry"), blocked.attempts]).toEqual(["TEAM_BLOCKED", "false", 1]);
      const empty = nodeClient(bench, { apiKey: bench.emptyKey });
      const over = await failure(empty.openai.chat.completions.create({ model: "oai", messages: user("hi") }));
      expect(over).toBeInstanceOf(RateLimitError);
      expect([over.code, over.headers?.get("x-should-retry"), empty.attempts]).toEqual(["QUOTA_EXCEEDED", "false", 1]);
    },
    R4: async () => {
      bench.fake.forget();
      const client = nodeClient(bench);
      const { data, response } = await client.openai.chat.completions
        .create({ model: "oai-error-500-once", messages: user("hi") })
        .withResponse();
      expect(data.choices[0]?.message.content).toBe("pong");
      expect([client.attempts, bench.fake.of("error-500-once").length, response.headers.get("x-gw-attempted-retries")]).toEqual([
        1,
        2,
        "1",
      ]);
    },
    R5: async () => {
      const { data, response } = await nodeClient(bench)
        .openai.chat.completions.create({ model: "busy-guarded", messages: user("hi") })
        .withResponse();
      expect(data.choices[0]?.message.content).toBe("from the fallback");
      expect(response.headers.get("x-gw-model-id")).toBe(deploymentId("oai-other"));
      expect(response.headers.get("x-gw-attempted-fallbacks")).toBe("1");
    },
    R7: async () => {
      const client = nodeClient(bench, { maxRetries: 0 });
      const startedAt = Date.now();
      const error = await failure(client.openai.chat.completions.create({ model: "hang-2s", messages: user("hi") }));
      expect([error.status, error.type]).toEqual([408, "timeout_error"]);
      expect(Date.now() - startedAt).toBeLessThan(2_500);
      await until(() => bench.fake.last("two-seconds--hang").abortedAt !== undefined, 1_000);
    },
    R10: async () => {
      bench.fake.forget();
      const client = nodeClient(bench, { maxRetries: 0 });
      for (let call = 0; call < 3; call++) {
        const error = await failure(client.openai.chat.completions.create({ model: "key-refused", messages: user("hi") }));
        expect(error.status).toBe(503);
        expect(error.message).not.toContain("API key");
      }
      // The first refusal cools the deployment; the others are answered without it.
      expect(bench.fake.of("refused--auth-error")).toHaveLength(1);
    },
    R11: async () => {
      const client = nodeClient(bench);
      const { data, response } = await client.openai.chat.completions
        .create({ model: "policy-guarded", messages: user("hi") })
        .withResponse();
      expect(data.choices[0]?.message.content).toBe("from the fallback");
      expect(response.headers.get("x-gw-model-id")).toBe(deploymentId("oai-other"));
      client.attempts = 0;
      const before = bench.fake.of("policy-error").length;
      const error = await failure(client.openai.chat.completions.create({ model: "oai-policy-error", messages: user("hi") }));
      expect(error).toBeInstanceOf(BadRequestError);
      expect([error.code, client.attempts, bench.fake.of("policy-error").length - before]).toEqual(["content_policy_violation", 1, 1]);
    },
  },
  60_000,
);

testCases("openai-node", {
  "R-exhausted": async () => {
    // What the gateway has tried as often as it may, the client must not try three times more.
    const client = nodeClient(bench);
    const before = bench.fake.of("error-500").length;
    const error = await failure(client.openai.chat.completions.create({ model: "oai-error-500", messages: user("hi") }));
    expect(error.status).toBe(503);
    expect([client.attempts, bench.fake.of("error-500").length - before, error.headers?.get("x-should-retry")]).toEqual([1, 2, "false"]);
  },
});

testScript({
  client: "openai-python",
  ids: ["R1", "R2", "R4", "R5", "R7", "R8", "R10", "R11"],
  command: python("r_retries.py"),
  bench: () => bench,
});

testCases(
  "openai-node",
  {
    R1: async () => {
      const { refused, answer, attempts, waitedMs } = await waiting;
      expect(refused).toBeInstanceOf(RateLimitError);
      expect(refused?.code).toBe("rate_limit_exceeded");
      const headers = refused?.headers;
      const retryAfter = Number(headers?.get("retry-after"));
      expect([retryAfter >= 1, retryAfter <= 60]).toEqual([true, true]);
      for (const name of ["limit", "remaining", "reset"]) expect(headers?.get(`x-ratelimit-${name}-requests`)).toMatch(/\d/);
      expect([answer, attempts >= 2, waitedMs >= retryAfter * 1_000 - 1_500]).toEqual(["pong", true, true]);
    },
  },
  90_000,
);
