import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connectHolder, holderAddress } from "./coordinator.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A coordinator that verifies everything and notes the tokens that it gets. */
async function startCoordinator(rounds: number): Promise<{ url: string; tokens: (string | undefined)[]; requestIds: unknown[] }> {
  const tokens: (string | undefined)[] = [];
  const requestIds: unknown[] = [];
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization);
    requestIds.push(request.headers["x-request-id"]);
    response.setHeader("connection", "close");
    response.end(JSON.stringify({ ok: true, rounds, remade: rounds, firstBad: null }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens, requestIds };
}

const options = { deadlineMs: 5000 };

test("a federation is read from the coordinator that holds it; the one of COORDINATOR_URL is not asked", async () => {
  const [usual, holder] = [await startCoordinator(1), await startCoordinator(2)];
  const config = { coordinatorUrl: usual.url, coordinatorToken: "the-edges-token" };
  expect(await connectHolder(config, holder.url).verify("fed_1", options)).toMatchObject({ rounds: 2 });
  expect([usual.tokens, holder.tokens]).toEqual([[], ["Bearer the-edges-token"]]);
});

test("a coordinator gets the request id of a call, and nothing else of its metadata", async () => {
  const usual = await startCoordinator(1);
  const client = connectHolder({ coordinatorUrl: usual.url, coordinatorToken: "the-edges-token" }, "");
  const metadata = { "x-request-id": "req_1", authorization: "a user's token", "x-client-ip": "1.2.3.4" };
  await client.verify("fed_1", { ...options, metadata });
  await client.hasBlob("0".repeat(64), { ...options, metadata });
  await client.parameters({ sha256: "0".repeat(64), format: undefined, ifNoneMatch: undefined, method: "HEAD" }, { ...options, metadata });
  await client.verify("fed_1", options);
  expect(usual.requestIds).toEqual(["req_1", "req_1", "req_1", undefined]);
  expect(new Set(usual.tokens)).toEqual(new Set(["Bearer the-edges-token"]));
});

test("without a holder, or if it cannot be reached, COORDINATOR_URL is asked", async () => {
  const usual = await startCoordinator(1);
  const config = { coordinatorUrl: usual.url, coordinatorToken: undefined };
  for (const holder of ["", "http://127.0.0.1:1"])
    expect(await connectHolder(config, holder).verify("fed_1", options)).toMatchObject({ rounds: 1 });
});

test("an address to which the edge may not send its token is not used", () => {
  const config = { coordinatorUrl: "http://127.0.0.1:5100", coordinatorToken: "the-edges-token" };
  for (const holder of ["http://co.example.org:5100", "https://co.example.org", "http://169.254.169.254", "http://127.0.0.1:5101/v1"])
    expect(holderAddress(config, holder)).toBe(config.coordinatorUrl);
  const tls = { cert: Buffer.of(), key: Buffer.of(), ca: Buffer.of(), peer: { role: "edge", name: "edge-1" } } as const;
  expect(holderAddress({ ...config, tls }, "https://co.example.org:5100")).toBe("https://co.example.org:5100");
  expect(holderAddress({ ...config, tls }, "http://127.0.0.1:5101")).toBe(config.coordinatorUrl);
});
