import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

let edge: TestEdge | undefined;
let upstream: Server | undefined;
let visits = 0;
afterEach(async () => {
  visits = 0;
  await edge?.close();
  upstream?.close().closeAllConnections();
});

/** An edge with a provider at 127.0.0.1, set by an admin and by the configuration file, and a server of the operator's own. */
async function open(env: Record<string, string>) {
  upstream = createServer((request, response) => {
    visits++;
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }] }));
  }).listen(0, "0.0.0.0");
  await once(upstream, "listening");
  const { port } = upstream.address() as AddressInfo;
  const at = (modelName: string, providerKind: string, dbModel: boolean, host: string) =>
    deployment({
      modelName,
      providerKind,
      dbModel,
      inferenceModelId: "m",
      apiKey: "k",
      params: "{}",
      baseUrl: `http://${host}:${port}/v1`,
    });
  const control = new FakeControl();
  // Another spelling of the address each: a guard is about an origin.
  control.deployments = [
    at("of-admin", "openai", true, "127.0.0.1"),
    at("of-file", "openai", false, "127.0.0.2"),
    at("of-operator", "vllm", true, "localhost"),
  ];
  edge = await startEdge(control, {}, env);
  const { secret } = control.addKey();
  const { post } = edge;
  return async (model: string) => {
    const body = { model, messages: [{ role: "user", content: "hi" }], num_retries: 0 };
    return (await post("/v1/chat/completions", body, { authorization: `Bearer ${secret}` })).status;
  };
}

const EXPOSED = { TRUST_PROXY: "10.0.0.1" };

test.each(["http1", "undici"])("%s: exposed, a provider that an admin set at a private address is not called", async (transport) => {
  const call = await open({ ...EXPOSED, UPSTREAM_TRANSPORT: transport });
  expect([await call("of-admin"), visits]).toEqual([503, 0]);
  expect([await call("of-operator"), visits]).toEqual([200, 1]);
});

test("exposed, a private address of the configuration file is called, and every one if the operator says so", async () => {
  const call = await open(EXPOSED);
  expect([await call("of-file"), visits]).toEqual([200, 1]);
  await edge?.close();
  upstream?.close();
  const allowed = await open({ ...EXPOSED, ALLOW_PRIVATE_UPSTREAMS: "true" });
  expect([await allowed("of-admin"), visits]).toEqual([200, 2]);
});

test("on one's own machine providers may be private", async () => {
  const call = await open({});
  expect([await call("of-admin"), visits]).toEqual([200, 1]);
});
