import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { UpstreamRequest } from "../providers/provider.ts";
import { createGoogleTokens } from "./google-token.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const account = { type: "service_account", client_email: "robot@acme.test", private_key: pem, private_key_id: "k1" };
const request: UpstreamRequest = {
  url: "https://aiplatform.googleapis.com/v1/x",
  headers: { "content-type": "application/json" },
  body: "{}",
};

let server: Server;
let asked: URLSearchParams[];
let answer: { status: number; body: object };

beforeEach(async () => {
  asked = [];
  answer = { status: 200, body: { expires_in: 3600, token_type: "Bearer" } };
  server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      asked.push(new URLSearchParams(Buffer.concat(chunks).toString()));
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: `token-${asked.length}`, ...answer.body }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** Google's token address, moved to this machine; a call to any other address fails the test. */
function tokens() {
  let offsetMs = 0;
  const clock = { now: () => Date.now() + offsetMs, monotonicMs: () => 0, sleep: async () => undefined, after: () => () => {} };
  const loopback: typeof fetch = async (input, init) => {
    expect(String(input instanceof Request ? input.url : input)).toBe("https://oauth2.googleapis.com/token");
    return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token`, init);
  };
  const sign = createGoogleTokens({ clock, fetch: loopback });
  const bearer = async (credentials: object = account) =>
    (await sign(request, { type: "google", credentials: credentials as Record<string, unknown> })).headers["authorization"];
  return {
    bearer,
    sign,
    pass: (ms: number) => {
      offsetMs += ms;
    },
  };
}

test("a request gets the token of an assertion that the account signed, and keeps all else", async () => {
  const { sign } = tokens();
  const signed = await sign(request, { type: "google", credentials: account });
  expect(signed).toEqual({ ...request, headers: { ...request.headers, authorization: "Bearer token-1" } });
  const [head = "", claims = "", signature = ""] = (asked[0]?.get("assertion") ?? "").split(".");
  const key = createPublicKey(pem);
  expect(verify("RSA-SHA256", Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
    iss: "robot@acme.test",
    scope: "https://www.googleapis.com/auth/cloud-platform",
  });
});

test("many calls at once make one request, and its token is cached until shortly before it expires", async () => {
  const { bearer, pass } = tokens();
  expect(new Set(await Promise.all(Array.from({ length: 20 }, async () => await bearer())))).toEqual(new Set(["Bearer token-1"]));
  pass(54 * 60_000);
  expect(await bearer()).toBe("Bearer token-1");
  pass(2 * 60_000);
  expect(await bearer()).toBe("Bearer token-2");
  expect(asked).toHaveLength(2);
});

test("another account, or another key of it, has another token", async () => {
  const { bearer } = tokens();
  expect(await bearer()).toBe("Bearer token-1");
  expect(await bearer({ ...account, private_key_id: "k2" })).toBe("Bearer token-2");
  expect(await bearer()).toBe("Bearer token-1");
});

test("while Google gives no new token the old one is used to its end, then calls fail as ours", async () => {
  const { bearer, pass } = tokens();
  await bearer();
  answer = { status: 400, body: { error: "invalid_grant", error_description: "Invalid JWT Signature." } };
  pass(57 * 60_000);
  expect(await bearer()).toBe("Bearer token-1");
  pass(4 * 60_000);
  await expect(bearer()).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE", internal: expect.stringContaining("invalid_grant") });
  answer = { status: 200, body: { expires_in: 3600 } };
  expect(await bearer()).toMatch(/^Bearer token-\d+$/);
});

test("credentials that would run a command or read a file are refused, and nothing is asked", async () => {
  const { bearer } = tokens();
  const external = { type: "external_account", credential_source: { executable: { command: "/bin/true" } } };
  await expect(bearer(external)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  await expect(bearer({ ...account, private_key: "no key" })).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  expect(asked).toHaveLength(0);
});
