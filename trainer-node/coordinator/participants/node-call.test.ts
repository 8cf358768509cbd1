import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock as clock } from "../../../common/clock.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { readCapabilities } from "./capabilities.ts";
import { createNodeCalls, readAnswer, refusal } from "./node-call.ts";

let server: Server;
let port: number;
let connections = 0;
const nonces: unknown[] = [];
beforeAll(async () => {
  server = createServer(({ url, headers }, response) => {
    if (url === "/") return void response.end("here");
    if (url === "/slow") {
      const interim = headers["x-progress"] === "interim" ? ["0.25", "2", "soon", "1"] : [];
      for (const progress of interim) response.socket?.write(`HTTP/1.1 102 Processing\r\nX-Progress: ${progress}\r\n\r\n`);
      return void response.end("done");
    }
    nonces.push(headers["x-tributary-nonce"]);
    response.writeHead(401, { "retry-after": "2" }).end("{}");
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

const signal = new AbortController().signal;

async function ask(host: string, { allowPrivate, addresses }: { allowPrivate: boolean; addresses: string[][] }): Promise<string> {
  let asked = 0;
  const resolve = async () => (addresses[asked++] ?? []).map((address) => ({ address, family: 4 }));
  const { call, close } = createNodeCalls({ clock, random, idleMs: 1000, allowPrivate, resolve });
  try {
    const node = { url: `http://${host}:${port}`, secret: "s", token: "", tenantId: "" };
    return (await readAnswer(await call(node, { method: "GET", path: "/" }, signal), 100)).toString();
  } finally {
    await close();
  }
}

test("ssrf: a participant's name that leads to a private address is not connected to, whatever it led to before", async () => {
  connections = 0;
  const refused = {
    again: false,
    message: "its address is private, and the operator does not allow private addresses (ALLOW_PRIVATE_NODES)",
  };
  await expect(ask("participant.example", { allowPrivate: false, addresses: [["127.0.0.1"]] })).rejects.toMatchObject(refused);
  await expect(ask("participant.example", { allowPrivate: false, addresses: [["93.184.216.34", "127.0.0.1"]] })).rejects.toMatchObject(
    refused,
  );
  await expect(ask("127.0.0.1", { allowPrivate: false, addresses: [] })).rejects.toMatchObject(refused);
  await expect(ask("participant.example", { allowPrivate: true, addresses: [["169.254.169.254"]] })).rejects.toMatchObject(refused);
  expect(connections).toBe(0);
});

test("where the operator allows private participants they are called, by the very address that was judged", async () => {
  expect(await ask("participant.example", { allowPrivate: true, addresses: [["127.0.0.1"], ["169.254.169.254"]] })).toBe("here");
});

test("a node that has just started is called again, with a new signature", async () => {
  const { call, close } = createNodeCalls({ clock, random, idleMs: 1000 });
  try {
    const node = { url: `http://127.0.0.1:${port}`, secret: "s", token: "", tenantId: "" };
    const again = { again: true, retryAfterMs: 2000 };
    expect(await refusal(await call(node, { method: "POST", path: "/v1/train" }, signal))).toMatchObject(again);
    await expect(readCapabilities(call, node, signal)).rejects.toMatchObject(again);
    expect(new Set(nonces).size).toBe(2);
  } finally {
    await close();
  }
});

test("a participant reports its progress before its answer, if the call asks for it", async () => {
  const { call, close } = createNodeCalls({ clock, random, idleMs: 1000 });
  try {
    const node = { url: `http://127.0.0.1:${port}`, secret: "s", token: "", tenantId: "" };
    const progress: number[] = [];
    const slow = { method: "POST", path: "/slow" } as const;
    const answer = await call(node, { ...slow, onProgress: (fraction) => progress.push(fraction) }, signal);
    expect([(await readAnswer(answer, 100)).toString(), progress]).toEqual(["done", [0.25, 1]]);
    expect((await readAnswer(await call(node, slow, signal), 100)).toString()).toBe("done");
    expect(progress).toHaveLength(2);
  } finally {
    await close();
  }
});
