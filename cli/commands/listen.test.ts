import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type FakeServer, startFakeServer } from "../http/server-fixture.ts";
import { fakeIo } from "../io-fixture.ts";
import { run } from "../run.ts";

const WEBHOOK = { webhook: { id: "wh_1" }, secret: "whsec_c2VjcmV0" };
const DELIVERIES = { data: [{ id: "msg_1", body: '{"type":"key.created"}' }] };
const REMOVED = "DELETE /api/gw/webhooks/wh_1";

let server: FakeServer;
let failures: number;
beforeEach(async () => {
  failures = 0;
  server = await startFakeServer(({ method, url }) => {
    if (method === "POST") return { body: WEBHOOK };
    if (!url?.includes("/deliveries")) return { body: { data: [] } };
    return failures-- > 0 ? { status: 503, body: { error: "Restarting.", code: "UNAVAILABLE" } } : { body: DELIVERIES };
  });
});
afterEach(() => server.stop());

const env = () => ({ GW_API_URL: server.url, GW_TOKEN: "token" });

test("a server that fails for a while ends neither the command nor the webhook, and is named once", async () => {
  failures = 2;
  const interrupt = new AbortController();
  const io = fakeIo({ env: env(), signal: interrupt.signal });
  const listening = run(["listen"], io);
  while (io.out() === "" && !server.requests.includes(REMOVED)) await setImmediate();
  expect([io.out(), server.requests.includes(REMOVED)]).toEqual([expect.stringContaining("msg_1"), false]);
  expect(io.err().split("Restarting. Trying again.")).toHaveLength(2);
  interrupt.abort();
  expect([await listening, server.requests.at(-1)]).toEqual([130, REMOVED]);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s removes the webhook", async (signal) => {
  const main = join(import.meta.dirname, "../main.ts");
  const child = spawn(process.execPath, [main, "listen"], { env: { ...process.env, ...env() }, stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  child.kill(signal);
  expect([await once(child, "close"), server.requests.at(-1)]).toEqual([[130, null], REMOVED]);
});
