import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { RateLimitError } from "openai";
import type { Script } from "../helpers/fake-upstream/script.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";

const busy = (headers: Readonly<Record<string, string>>): Script => [{ failure: "rate-limit", extraHeaders: headers }];
/** An upstream's ways to say "in ten minutes". */
const SCRIPTS = {
  seconds: busy({ "retry-after": "600" }),
  milliseconds: busy({ "retry-after-ms": "600000" }),
  date: busy({ "retry-after": new Date(Date.now() + 600_000).toUTCString() }),
  // Not too long for a client to wait by itself.
  short: busy({ "retry-after": "45" }),
};

let folder: string;
let upstream: FakeUpstream;
let system: System;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-retry-after-"));
  upstream = await startFakeUpstream(SCRIPTS);
  const entries = Object.keys(SCRIPTS).map(
    (name) =>
      `  - model_name: ${name}\n    litellm_params: {model: openai/${name}, api_base: "${upstream.url}/openai/v1", api_key: k, input_cost_per_token: 0}\n`,
  );
  const file = join(folder, "config.yaml");
  writeFileSync(file, `model_list:\n${entries.join("")}router_settings: {num_retries: 0}\n`);
  system = await startSystem({ env: { CONFIG: file } });
});
afterAll(async () => {
  await system.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The error that the client throws, and its number of attempts. Some versions sleep for the whole retry-after: the signal wakes them. */
async function refusal(model: string, maxRetries = 2): Promise<{ error: InstanceType<typeof RateLimitError>; attempts: number }> {
  let attempts = 0;
  const counting: typeof fetch = (input, init) => {
    attempts++;
    return fetch(input, init);
  };
  const openai = new OpenAI({ apiKey: MASTER_KEY, baseURL: `${system.url}/v1`, maxRetries, fetch: counting });
  const messages = [{ role: "user" as const, content: "ping" }];
  const error: unknown = await openai.chat.completions
    .create({ model, messages }, { signal: AbortSignal.timeout(10_000) })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RateLimitError);
  return { error: error as InstanceType<typeof RateLimitError>, attempts };
}

test.each(["seconds", "milliseconds", "date"])(
  "openai-node rejects at once when an upstream asks for ten minutes in %s, and again while its deployment cools down",
  async (model) => {
    for (const _call of ["refused by the upstream", "refused by the gateway"]) {
      const { error, attempts } = await refusal(model);
      expect([attempts, error.headers?.get("x-should-retry")]).toEqual([1, "false"]);
      const retryAfter = Number(error.headers?.get("retry-after"));
      expect(retryAfter).toBeGreaterThan(540);
      expect(retryAfter).toBeLessThanOrEqual(601);
    }
  },
  30_000,
);

test("a retry-after of less than a minute is left to the client", async () => {
  const { error } = await refusal("short", 0);
  expect([error.headers?.get("x-should-retry"), error.headers?.get("retry-after")]).toEqual([null, "45"]);
});
