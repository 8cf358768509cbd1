import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { SERVICE_NODE_FLAGS } from "../../common/node-flags.ts";
import { eachOf, raw } from "../contract/support.ts";
import { type Answer, adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { evidence } from "../helpers/evidence.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { AMBIGUOUS_REQUESTS, SMUGGLED } from "./smuggled-requests.ts";

// One running system for the items that need sockets, headers and logs of real processes.

let system: System;
let tenant: Tenant;
let admin: string;
beforeAll(async () => {
  // Behind a proxy on this machine, which says whether its client came by https; that alone would forbid nodes on this machine.
  const env = { LOG_LEVEL: "debug", TRUST_PROXY: "127.0.0.1", ALLOW_PRIVATE_NODES: "true", TEST_CREDITS: "true" };
  const controlPlaneFlags = ["--import", `data:text/javascript,${encodeURIComponent(PRELOAD)}`];
  system = await startSystem({ trainer: true, env, controlPlaneFlags });
  [tenant, admin] = [await newTenant(system, { creditNano: 1_000_000_000 }), await adminToken(system)];
});
afterAll(() => system.stop());

const LISTENERS: readonly (readonly [string, () => string])[] = [
  ["the gateway", () => system.url],
  ["the hosted listener", () => system.hostedUrl],
  ["the trainer", () => system.trainerUrl],
];

test.each(LISTENERS)("S-15: %s refuses every ambiguous request, ends the connection, and answers nothing after it", async (name, url) => {
  const wrong: string[] = [];
  const cases = Object.entries(AMBIGUOUS_REQUESTS);
  await eachOf(cases, async ([what, bytes]) => {
    const { text, status, isClosed } = await raw(url(), Buffer.from(bytes + SMUGGLED, "latin1"));
    const answers = text.match(/^HTTP\/1\.1 /gm)?.length ?? 0;
    if (answers !== 1 || status < 400 || status >= 500 || !isClosed || text.includes("smuggled"))
      wrong.push(`${what}: ${answers} answers, ${status}, ${isClosed ? "closed" : "open"}`);
  });
  expect(wrong).toEqual([]);
  expect((await call(url(), "GET", "/health")).status).toBeLessThan(500);
  evidence("S-15", `${name}: ${cases.length} ambiguous requests, all 4xx and closed`);
});

describe("S-11: forms", () => {
  const part = (name: string, content: string, more = "") =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
  const purpose = part("purpose", "assistants");
  const upload = (body: string) =>
    call(system.url, "POST", "/v1/files", { key: tenant.key, body, headers: { "content-type": "multipart/form-data; boundary=b" } });

  test("of ten thousand parts, or without an end, are refused", async () => {
    const parts = Array.from({ length: 10_000 }, (_, index) => part(`f${index}`, "x")).join("");
    expect((await upload(`${parts}--b--\r\n`)).status).toBe(413);
    expect((await upload(`${purpose}${part("file", "hello", '; filename="a.txt"')}`)).status).toBe(400);
    expect((await upload(`${purpose}--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello`)).status).toBe(400);
  });

  test.each(["../../../etc/passwd", "..\\..\\boot.ini", "/etc/passwd"])(
    "a file named %s keeps the last part of its name only",
    async (filename) => {
      const stored = await upload(`${purpose}${part("file", "hello", `; filename="${filename}"`)}--b--\r\n`);
      expect([stored.status, stored.body.filename]).toEqual([200, expect.stringMatching(/^[^/\\]+$/)]);
    },
  );

  test("a file whose name is no Unicode text can be read again", async () => {
    const odd = "; filename*=UTF-16LE''%00%D8%41%00";
    const stored = await upload(`${purpose}${part("file", "hello", odd)}--b--\r\n`);
    expect(stored.status).toBe(200);
    const read = await call(system.url, "GET", `/v1/files/${stored.body.id}/content`, { key: tenant.key });
    expect([read.status, read.text]).toEqual([200, "hello"]);
  });
});

describe("S-16: line breaks in names", () => {
  const SPLIT = "a\r\nx-injected: 1\r\n\r\n<b>";

  test("reach no header of an answer", async () => {
    const { key, token, teamId } = tenant;
    const named = encodeURIComponent(SPLIT);
    const form = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a\\r\\nx-injected: 1"\r\n\r\nhello\r\n--b--\r\n`;
    const answers: Answer[] = [
      await chat(system, key, "hello", { model: SPLIT }),
      await chat(system, key, "hello", { user: SPLIT }),
      await call(system.url, "GET", `/v1/models/${named}`, { key }),
      await call(system.url, "POST", `/engines/${named}/chat/completions`, { key, body: { messages: [{ role: "user", content: "x" }] } }),
      await call(system.url, "GET", `/api/gw/teams/${named}`, { token }),
      await call(system.url, "PATCH", `/api/gw/teams/${teamId}`, { token, body: { name: SPLIT } }),
      await call(system.url, "GET", `/training/nodes/${named}/v1/info`, { token }),
      await call(system.url, "GET", `/ui/${named}`),
      await call(system.url, "POST", "/v1/files", { key, body: form, headers: { "content-type": "multipart/form-data; boundary=b" } }),
    ];
    const file = answers.at(-1)?.body;
    if (file?.id) answers.push(await call(system.url, "GET", `/v1/files/${file.id}/content`, { key }));
    for (const { headers, status } of answers) {
      expect(headers.get("x-injected")).toBeNull();
      expect(status).toBeLessThan(500);
    }
    evidence("S-16", `${answers.length} answers to names with line breaks, 0 split`);
  });

  test("are refused in the names of models and providers", async () => {
    const model = { name: SPLIT, provider: "echo", inferenceModelId: "echo", pricing: { input: 1, output: 1 } };
    expect((await call(system.url, "POST", "/api/admin/models", { token: admin, body: model })).status).toBe(400);
    expect((await call(system.url, "POST", "/api/admin/providers", { token: admin, body: { name: SPLIT, kind: "echo" } })).status).toBe(
      400,
    );
  });
});

test("S-17: text of callers cannot end a log line or reach a terminal: every line of every process is one JSON object", async () => {
  const hostile = 'x\n{"level":"error","msg":"forged"}\r\n\u001b[2J\u001b[31mred\u2028\u0085\u009b2J';
  const named = encodeURIComponent(hostile);
  const agent = { "user-agent": 'a "quoted" \\ agent' };
  await chat(system, tenant.key, hostile, { user: hostile, model: hostile });
  await call(system.url, "GET", `/api/gw/teams/${named}?search=${named}`, { token: tenant.token, headers: agent });
  await call(system.url, "POST", "/api/auth/token", { body: { email: `${hostile}@example.org`, password: hostile }, headers: agent });
  await call(system.url, "POST", "/api/auth/signup", { body: { email: "log@example.org", password: "a fine password", name: hostile } });
  await call(system.url, "GET", `/training/nodes/${named}/v1/info`, { token: tenant.token });
  await call(system.trainerUrl, "GET", `/v1/jobs/${named}`);
  await call(system.trainerUrl, "POST", "/train", { body: { dataset: hostile } });
  const lines = system
    .logs()
    .split("\n")
    .filter((line) => line !== "");
  expect(lines.filter((line) => !isJsonObject(line))).toEqual([]);
  expect(lines.filter((line) => hasControlCharacter(line))).toEqual([]);
  expect(lines.filter((line) => (JSON.parse(line) as { msg?: unknown }).msg === "forged")).toEqual([]);
  evidence("S-17", `${lines.length} log lines, each one JSON object without control characters`);
});

function isJsonObject(line: string): boolean {
  return line.startsWith("{") && line.endsWith("}") && typeof JSON.parse(line) === "object";
}

const hasControlCharacter = (line: string) => /[\p{Cc}\u2028\u2029]/u.test(line);

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Pages of our own, with a policy of their own. */
const PAGES = new Set(["GET /docs", "GET /docs/api", "GET /api/auth/oidc/none/callback", "GET /fallback/login", "POST /fallback/login"]);
const ENDS_SESSION = /logout|refresh|\/sessions?/;
const METHODS = new Set(["get", "post", "put", "patch", "delete"]);

test("S-18, S-20: every described operation answers with a content type that browsers do not guess, and no page of another origin may read it", async () => {
  const document = (await call(system.url, "GET", "/openapi.json")).body as ApiDocument;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => METHODS.has(method) && !ENDS_SESSION.test(path))
      .map((method) => ({ method: method.toUpperCase(), path: path.replace(/\{[^}]+\}/g, "none") })),
  );
  expect(operations.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  const look = (name: string, { status, headers, text }: Answer) => {
    if (headers.get("x-content-type-options") !== "nosniff") wrong.push(`${name}: no nosniff`);
    if (text !== "" && !headers.get("content-type")) wrong.push(`${name}: no content type`);
    if (/html|javascript|svg|xml/.test(headers.get("content-type") ?? "") && !PAGES.has(name)) wrong.push(`${name}: a page`);
    if (headers.has("access-control-allow-origin")) wrong.push(`${name}: may be read by other origins`);
    if (status >= 500 && status !== 503) wrong.push(`${name}: ${status}`);
  };
  const origin = { origin: "https://evil.example" };
  await eachOf(operations, async ({ method, path }) => {
    const isInference = path.startsWith("/v1/") || path.startsWith("/openai") || !/^\/(api|training)\//.test(path);
    const credential = isInference ? { key: tenant.key } : { token: tenant.token };
    look(
      `${method} ${path}`,
      await call(system.url, method, path, { ...credential, headers: origin, ...(method === "GET" ? {} : { body: {} }) }),
    );
  });
  look(
    "a chat",
    await call(system.url, "POST", "/v1/chat/completions", {
      key: tenant.key,
      headers: origin,
      body: { model: "echo", messages: [{ role: "user", content: "x" }] },
    }),
  );
  look(
    "a stream",
    await call(system.url, "POST", "/v1/chat/completions", {
      key: tenant.key,
      headers: origin,
      body: { model: "echo", stream: true, messages: [{ role: "user", content: "x" }] },
    }),
  );
  look("a CSV", await call(system.url, "GET", "/api/gw/logs?format=csv", { token: tenant.token, headers: origin }));
  look("a missing path", await call(system.url, "GET", "/nowhere", { headers: origin }));
  for (const path of ["/health", "/v1/info", "/nowhere", "/metrics"]) look(`trainer ${path}`, await call(system.trainerUrl, "GET", path));
  look("a refused page at the trainer", await call(system.trainerUrl, "GET", "/v1/info", { headers: origin }));
  expect(wrong).toEqual([]);
  evidence("S-18", `${operations.length} operations looked at`);
  evidence("S-20", `${operations.length} operations asked from https://evil.example: none may be read there`);
});

test("S-20: a preflight of a page of another origin is not answered with a permission", async () => {
  for (const path of ["/api/auth/token", "/api/admin/users", "/v1/chat/completions", "/training/nodes"]) {
    const preflight = {
      origin: "https://evil.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    };
    const { headers } = await call(system.url, "OPTIONS", path, { headers: preflight });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  }
});

test("S-54: services run without __proto__ and without an inspector, also after SIGUSR1", async () => {
  const preloaded = system.controlPlane.stderr.split("\n").find((line) => line.includes("hasProto")) ?? "{}";
  expect(JSON.parse(preloaded)).toEqual({ hasProto: false, flags: expect.arrayContaining([...SERVICE_NODE_FLAGS]) });
  const services = [system.controlPlane, ...system.edges];
  for (const { pid } of services) {
    const before = listeningPorts(pid);
    expect(before.length).toBeGreaterThan(0);
    process.kill(pid, "SIGUSR1");
    // An answer that needs the process proves that it has run since the signal, which would open an inspector at once.
    expect((await call(system.url, "GET", "/api/auth/me", { token: tenant.token })).status).toBe(200);
    expect(listeningPorts(pid)).toEqual(before);
    expect(before).not.toContain(INSPECTOR_PORT);
  }
  evidence("S-54", `Node ${process.versions.node}, ${services.length} processes, no port but their own`);
});

/** Loaded before the service: says what the service runs with. */
const PRELOAD = "console.error(JSON.stringify({ hasProto: '__proto__' in {}, flags: process.execArgv }))";

const INSPECTOR_PORT = 9229;
const LISTEN = "0A";

/** The TCP ports that a process listens on, by the kernel. */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`)
      .flatMap((fd) => {
        const path = `/proc/${pid}/fd/${fd}`;
        return existsSync(path) ? [readlinkSync(path)] : [];
      })
      .map((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1]),
  );
  const rows = ["tcp", "tcp6"].flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, "utf8").trim().split("\n").slice(1));
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return fields
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && sockets.has(inode))
    .map(([, local = ""]) => Number.parseInt(local.split(":")[1] ?? "", 16))
    .sort((left, right) => left - right);
}

test("a data set's name that is longer than a key of the store is the caller's 400", async () => {
  const named = (name: string) => call(system.url, "PUT", "/training/datasets", { token: tenant.token, body: { name, epsilonBudget: 1 } });
  expect((await named("a".repeat(2000))).status).toBe(400);
  expect((await named("€".repeat(301))).status).toBe(400);
  expect((await named("€".repeat(300))).status).toBe(200);
});

test("a path with a broken percent sign is the caller's mistake at the trainer", async () => {
  const { status } = await raw(system.trainerUrl, "GET /v1/blobs/%%% HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  expect([400, 422]).toContain(status);
});

test("S-24: over https, and only there, browsers are told to stay with it; no answer is stored or framed", async () => {
  const https = await call(system.url, "GET", "/api/auth/me", { token: tenant.token, headers: { "x-forwarded-proto": "https" } });
  expect(Object.fromEntries(https.headers)).toMatchObject({
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
  });
  const http = await call(system.url, "GET", "/api/auth/me", { token: tenant.token });
  expect(http.headers.get("strict-transport-security")).toBeNull();
});

test("S-26: a password may be long and of one kind of letters, all of it counts, and short or common ones are refused", async () => {
  const long = `${"correct horse battery staple ".repeat(4)}end`;
  const email = "long-password@example.org";
  const signUp = (address: string, password: string) =>
    call(system.url, "POST", "/api/auth/signup", { body: { email: address, password } });
  const logIn = (password: string) => call(system.url, "POST", "/api/auth/token", { body: { email, password } });
  expect((await signUp(email, long)).status).toBe(201);
  expect((await logIn(long)).status).toBe(200);
  for (const prefix of [64, 72, long.length - 1]) expect((await logIn(long.slice(0, prefix))).status).toBe(401);
  for (const refused of ["7 chars", "password", "12345678", "qwertyuiop", "refused@example.org"])
    expect((await signUp("refused@example.org", refused)).status).toBe(400);
  evidence("S-26", `${long.length} letters accepted and compared to the last; 5 weak passwords refused`);
});

describe("a tenant's node behind its proxy", () => {
  const received: IncomingHttpHeaders[] = [];
  const node = createServer((request, response) => {
    received.push(request.headers);
    response.writeHead(200, {
      "content-type": "text/html",
      "content-security-policy": "script-src *",
      "set-cookie": "__Host-tributary=evil; Path=/; Secure",
      "access-control-allow-origin": "*",
      "x-content-type-options": "sniff",
      refresh: "0;url=https://evil.example",
    });
    response.end("<script>alert(1)</script>");
  });
  let path = "";
  beforeAll(async () => {
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    const made = await call(system.url, "POST", "/training/nodes", { token: tenant.token, body: { name: "hostile", url } });
    expect(made.status).toBe(201);
    path = `/training/nodes/${made.body.node.id}/page.html`;
  });
  afterAll(() => void node.close());

  test("a request that announces trailers is forwarded, and the edge lives on", async () => {
    const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-gw-api-key: ${tenant.key}\r\ntrailer: x-a\r\n\r\n`;
    expect((await raw(system.url, head)).status).toBe(200);
    expect((await call(system.url, "GET", "/health/liveliness")).status).toBe(200);
    received.length = 0;
  });

  test("S-06: gets no credential, cookie or forwarding header of its caller", async () => {
    const secrets = {
      cookie: "__Host-tributary=a.b.c",
      "x-forwarded-for": "203.0.113.9",
      "x-forwarded-host": "gateway.example",
      "x-gw-tenant": "org_other",
    };
    expect((await call(system.url, "GET", path, { key: tenant.key, headers: secrets })).status).toBe(200);
    expect((await call(system.url, "POST", path, { token: tenant.token, body: {}, headers: secrets })).status).toBe(200);
    expect(received).toHaveLength(2);
    for (const headers of received) {
      const names = Object.keys(headers).filter((name) =>
        /^(authorization|cookie|(x-gw-|x-)?api-key|x-forwarded-(for|host|proto))$/.test(name),
      );
      expect(names).toEqual([]);
      expect(JSON.stringify(headers)).not.toMatch(/org_other|203\.0\.113\.9|gateway\.example/);
      expect(JSON.stringify(headers)).not.toContain(tenant.key);
    }
  });

  test("S-18, S-20, S-21: its page is a download in a sandbox that no other origin may read", async () => {
    const { headers } = await call(system.url, "GET", path, { token: tenant.token, headers: { origin: "https://evil.example" } });
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    });
    for (const name of ["set-cookie", "refresh", "access-control-allow-origin"]) expect(headers.get(name)).toBeNull();
    evidence("S-21", "a node's own policy is replaced by sandbox");
  });

  test("S-23: is not reached by the console's cookie", async () => {
    const { email, password } = tenant;
    const session = await call(system.url, "POST", "/api/auth/session", { body: { email, password }, headers: { origin: system.url } });
    const cookie = session.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    expect(cookie).toContain("tributary");
    expect((await call(system.url, "GET", "/api/auth/me", { headers: { cookie } })).status).toBe(200);
    expect((await call(system.url, "GET", path, { headers: { cookie, "sec-fetch-site": "same-origin" } })).status).toBe(401);
  });

  test("S-37: does not exist for another tenant, by token or key, whatever the method", async () => {
    const other = await newTenant(system);
    const missing = path.replace(/node_[^/]+/, "node_none");
    for (const credential of [{ token: other.token }, { key: other.key }]) {
      for (const method of ["GET", "POST", "DELETE"]) {
        const [real, none] = [await call(system.url, method, path, credential), await call(system.url, method, missing, credential)];
        expect([real.status, real.body?.code, real.body?.error]).toEqual([404, none.body?.code, none.body?.error]);
      }
    }
    const before = received.length;
    expect((await call(system.url, "DELETE", path.replace("/page.html", ""), { token: other.token })).status).toBe(404);
    expect(received).toHaveLength(before);
  });
});
