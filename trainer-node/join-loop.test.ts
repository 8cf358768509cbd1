import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import { startJoining } from "./join-loop.ts";

const [LINK, OWN] = ["join_the-link", "join_own-place"];

let tokenFolder: string;
let gateway: Server;
let asked: string[];
let onPoll: (response: ServerResponse) => void;
beforeEach(async () => {
  tokenFolder = join(mkdtempSync(join(tmpdir(), "tributary-join-")), "tokens");
  asked = [];
  gateway = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    asked.push(`${method} ${url} ${headers.authorization} ${headers["x-capabilities"] ?? ""} ${headers["x-properties"] ?? ""}`.trim());
    // A poll waits for work, as the gateway's does.
    if (url === "/training/join/tasks") return onPoll(response);
    const token = headers.authorization === `Bearer ${LINK}` ? OWN : headers.authorization?.slice("Bearer ".length);
    response.writeHead(method === "POST" ? 201 : 204, { "content-type": "application/json" });
    response.end(method === "POST" ? JSON.stringify({ token }) : undefined);
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  gateway.closeAllConnections();
  gateway.close();
  rmSync(join(tokenFolder, ".."), { recursive: true, force: true });
});

/** Joins, waits for the first poll, and stops. */
async function joinOnce(joinToken: string, name = "5000"): Promise<string[]> {
  asked = [];
  const polled = new Promise<void>((resolve) => {
    onPoll = () => resolve();
  });
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const own = { url: "http://127.0.0.1:9", token: undefined };
  const properties = { region: "Zürich" };
  const joining = startJoining({ url, joinToken, tokenFolder, name, own, capabilities: ["clip"], properties, clock, logger: silentLogger });
  await polled;
  await joining.stop();
  return asked;
}

const work = (token: string) => [`GET /training/join/tasks Bearer ${token} clip {"region":"Z\\u00fcrich"}`];
const enroll = (token: string) => `POST /training/join Bearer ${token} clip`;
const leave = `DELETE /training/join Bearer ${OWN}`;

test("a node with a join link gets a place once, polls with its own token, and gives the place up when it stops", async () => {
  expect(await joinOnce(LINK)).toEqual([enroll(LINK), ...work(OWN), leave]);
  expect(await joinOnce(LINK)).toEqual([...work(OWN), leave]);
  // Another node of the same folder has a place of its own.
  expect((await joinOnce(LINK, "5001"))[0]).toBe(enroll(LINK));
});

test("a node with the join token of a place keeps it, also when it stops", async () => {
  expect(await joinOnce(OWN)).toEqual([enroll(OWN), ...work(OWN)]);
});

test("training is asked for under the task's id, so that a task which comes again after a lost result is not trained again", async () => {
  const task = { id: "t1", operation: "train", parameters: null, dataset: null, config: {}, round_id: "fed_1/1", client_id: "p1" };
  const calls: unknown[] = [];
  const own = createServer((request, response) => {
    calls.push([request.url, request.headers["idempotency-key"]]);
    response.setHeader("x-result", JSON.stringify({ num_samples: 1 })).end("update");
  });
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  let polls = 0;
  const waiting = new Promise<void>((resolve) => {
    onPoll = (response) => (++polls <= 2 ? void response.end(JSON.stringify({ task })) : resolve());
  });
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const node = { url: `http://127.0.0.1:${(own.address() as AddressInfo).port}`, token: undefined };
  const options = { url, joinToken: OWN, tokenFolder, name: "5000", own: node, capabilities: [], clock, logger: silentLogger };
  const joining = startJoining(options);
  await waiting;
  await joining.stop();
  own.closeAllConnections();
  own.close();
  expect(calls).toEqual([
    ["/v1/train", "t1"],
    ["/v1/train", "t1"],
  ]);
});
