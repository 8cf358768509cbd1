import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { EdgeDeps } from "../deps.ts";
import { trainingDoors } from "./training-doors.ts";

let received: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
let node: Server;
let edge: Server;
beforeAll(async () => {
  node = createServer((request, response) => {
    received.push({ url: request.url, headers: request.headers });
    response.end("{}");
  });
  await listening(node);
  const getNode = async ({ id }: { id: string }) => ({
    node: { id, url: urlOf(node), teamId: id === "node_shared" ? "" : "team_1", token: undefined },
    tenantId: id === "node_shared" ? "org_caller" : undefined,
  });
  const deps = { control: { training: { getNode } }, config: { allowPrivateUpstreams: true } };
  edge = createServer(express().use(trainingDoors(deps as unknown as Pick<EdgeDeps, "control" | "config">)));
  await listening(edge);
});
afterAll(() => {
  node.close();
  edge.close();
});

const listening = (server: Server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function through(id: string, headers: Record<string, string> = {}) {
  received = [];
  await fetch(`${urlOf(edge)}/training/nodes/${id}/v1/jobs/j?x=1`, { headers: { "x-gw-api-key": `sk-${"k".repeat(30)}`, ...headers } });
  return received[0];
}

test("a shared node is told whose call it is, and where the caller finds it; what the caller says of that is dropped", async () => {
  const call = await through("node_shared", { "x-gw-tenant": "org_other", "x-forwarded-prefix": "/elsewhere" });
  expect(call).toMatchObject({
    url: "/v1/jobs/j?x=1",
    headers: { "x-gw-tenant": "org_caller", "x-forwarded-prefix": "/training/nodes/node_shared" },
  });
  expect(call?.headers["x-gw-api-key"]).toBeUndefined();
});

test("a team's own node learns nothing of the tenants, as all of it is theirs", async () => {
  const call = await through("node_1", { "x-gw-tenant": "org_other" });
  expect(call?.headers["x-forwarded-prefix"]).toBe("/training/nodes/node_1");
  expect(call?.headers["x-gw-tenant"]).toBeUndefined();
});
