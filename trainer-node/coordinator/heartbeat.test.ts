import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock as clock } from "../../common/clock.ts";
import { systemRandom as random } from "../../common/random.ts";
import { withHeartbeat } from "./heartbeat.ts";
import { createNodeCalls } from "./participants/node-call.ts";

const IDLE_MS = 400;
const nodes = createNodeCalls({ clock, random, idleMs: IDLE_MS });
const call = withHeartbeat(nodes.call, { clock, idleMs: IDLE_MS });
const servers: Server[] = [];

afterAll(async () => {
  await nodes.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** A node that takes its time for work, and says for so long that it is there. */
async function start({ workMs, aliveMs }: { workMs: number; aliveMs: number }): Promise<{ url: string; looks: () => number }> {
  const begunMs = performance.now();
  let looks = 0;
  const server = createServer((request, response) => {
    if (request.method === "POST") return void setTimeout(() => response.end("done"), workMs).unref();
    looks++;
    if (performance.now() - begunMs < aliveMs) response.writeHead(404).end();
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await new Promise((listening) => server.once("listening", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, looks: () => looks };
}

const work = (url: string, path = "/v1/train") =>
  call({ url, secret: "s", token: "", tenantId: "" }, { method: "POST", path }, AbortSignal.timeout(10_000));

test("work may take longer than idleMs as long as the node answers health checks", async () => {
  const { url, looks } = await start({ workMs: 4 * IDLE_MS, aliveMs: 60_000 });
  const answer = await work(url);
  expect([answer.status, looks() > 2]).toEqual([200, true]);
  for await (const _chunk of answer.body);
});

test("a node that falls silent is gone long before the deadline, and may be asked again", async () => {
  const { url } = await start({ workMs: 60_000, aliveMs: IDLE_MS });
  const begunMs = performance.now();
  await expect(work(url)).rejects.toMatchObject({
    name: "ParticipantProblem",
    again: true,
    message: expect.stringContaining("answered no health check"),
  });
  expect(performance.now() - begunMs).toBeLessThan(8000);
});

test("other participants get no heartbeats: they may handle one request at a time only", async () => {
  const { url, looks } = await start({ workMs: 2 * IDLE_MS, aliveMs: 0 });
  const answer = await work(url, "/call");
  expect([answer.status, looks()]).toEqual([200, 0]);
  for await (const _chunk of answer.body);
});
