import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import express from "express";
import { systemClock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { silentLogger } from "../../../../common/logger.ts";
import { systemRandom } from "../../../../common/random.ts";
import { OpenCalls } from "../../../calls/open-calls.ts";
import { readEdgeConfig } from "../../../config.ts";
import { createMemoryRecords } from "../../../stored/records/memory-records-fixture.ts";
import { type Listener, listen } from "../../listen.ts";
import { platformErrorHandler, platformNotFound } from "../../middleware/error-response.ts";
import { requestId } from "../../middleware/request-id.ts";
import { securityHeaders } from "../../middleware/security-headers.ts";
import { fakeControlPlane, samples, USER_TOKEN } from "../../platform/control-plane-fixture.ts";
import { consoleRoutes } from "./console.ts";

const opened: Listener[] = [];
const folders: string[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((listener) => listener.stop()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const session = { token: USER_TOKEN, expiresAt: new Date("2030-01-02T03:04:05.000Z") };
const ANSWERS = {
  "identity.createToken": (request: unknown) => {
    if ((request as { password: string }).password !== "right") throw new AppError("UNAUTHORIZED", "E-mail or password is wrong.");
    return session;
  },
  "identity.refreshToken": () => session,
  "identity.logout": () => ({}),
  "identity.getMe": () => ({ user: samples.user, organization: samples.organization }),
};

/** The routes alone, over a built console of three files. */
async function start({ isBuilt = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "console-"));
  folders.push(folder);
  if (isBuilt) build(folder);
  const { control, calls } = fakeControlPlane(ANSWERS);
  const deps = {
    config: readEdgeConfig({}),
    control,
    records: createMemoryRecords({ clock: systemClock }),
    clock: systemClock,
    random: systemRandom,
    openCalls: new OpenCalls(),
    logger: silentLogger,
  };
  const app = express();
  app.set("trust proxy", true);
  app.use(requestId(deps), securityHeaders, consoleRoutes(deps, { folder }), platformNotFound, platformErrorHandler(silentLogger));
  const listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: () => undefined });
  opened.push(listener);
  const origin = `http://127.0.0.1:${listener.port}`;
  const call = (path: string, options: RequestInit = {}) => fetch(origin + path, { redirect: "manual", ...options });
  return { call, calls, origin };
}

function build(folder: string): void {
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>page</title>");
  writeFileSync(join(folder, "assets/main-abc.js"), "start()");
  writeFileSync(join(folder, "assets/main-abc.js.gz"), gzipSync("start()"));
}

test("every screen's address is the page, never cached; hashed files are cached forever and compressed if the client accepts that", async () => {
  const { call } = await start();
  for (const path of ["/ui/", "/ui/keys", "/ui/teams/team_1"]) {
    const page = await call(path);
    expect([page.status, page.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    expect(await page.text()).toContain("<title>page</title>");
  }
  const script = await call("/ui/assets/main-abc.js", { headers: { "accept-encoding": "gzip" } });
  expect(script.headers.get("content-encoding")).toBe("gzip");
  expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(await script.text()).toBe("start()");
  const plain = await call("/ui/assets/main-abc.js", { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  const again = await call("/ui/", { headers: { "if-none-match": (await call("/ui/")).headers.get("etag") ?? "" } });
  expect(again.status).toBe(304);
});

test("a script of an older build is a 404, not the page; nothing outside the folder is served", async () => {
  const { call } = await start();
  expect((await call("/ui/assets/gone-123.js")).status).toBe(404);
  for (const path of ["/ui/..%2f..%2fpackage.json", "/ui/%2e%2e/package.json", "/ui/assets/..%2f..%2f..%2fetc%2fpasswd.json"]) {
    expect((await call(path)).status).toBe(404);
  }
});

test("the page may run scripts of its own origin and none inline, and may not be framed", async () => {
  const { call } = await start();
  const policy = (await call("/ui/")).headers.get("content-security-policy") ?? "";
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
});

test("a console that is not built says how to build it", async () => {
  const { call } = await start({ isBuilt: false });
  const answer = await call("/ui/");
  expect(answer.status).toBe(504);
  expect(await answer.text()).toContain("make console");
});

test("a browser at the bare address is led to the console, a client that wants JSON is not", async () => {
  const { call } = await start();
  expect((await call("/", { headers: { accept: "text/html" } })).headers.get("location")).toBe("/ui/");
  expect((await call("/", { headers: { accept: "application/json" } })).status).toBe(404);
  expect((await call("/ui")).headers.get("location")).toBe("/ui/");
});

const logIn = (headers: Record<string, string>): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ email: "a@example.com", password: "right" }),
});

test("the session is a __Host- cookie no script can read; over https there is no other", async () => {
  const { call, origin } = await start();
  const overHttp = (await call("/api/auth/session", logIn({ origin }))).headers.getSetCookie();
  expect(overHttp[0]).toBe(
    `__Host-tributary=${USER_TOKEN}; Path=/; Expires=Wed, 02 Jan 2030 03:04:05 GMT; HttpOnly; SameSite=Strict; Secure`,
  );
  expect(overHttp[1]).toContain("tributary-session=");
  const overHttps = await call("/api/auth/session", logIn({ "sec-fetch-site": "same-origin", "x-forwarded-proto": "https" }));
  expect(overHttps.headers.getSetCookie()).toHaveLength(1);
  expect(await overHttps.text()).not.toContain(USER_TOKEN);
});

test("the control plane learns that a token is the cookie's", async () => {
  const { call, calls, origin } = await start();
  const refresh = (headers: Record<string, string>) =>
    call("/api/auth/session/refresh", { method: "POST", headers: { origin, ...headers } });
  await refresh({ cookie: `__Host-tributary=${USER_TOKEN}` });
  await refresh({ cookie: `__Host-tributary=${USER_TOKEN}`, authorization: `Bearer ${USER_TOKEN}` });
  expect(calls.map(({ options }) => options.metadata?.["x-session-cookie"])).toEqual(["true", undefined]);
});

test.each([
  ["another site's page", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
  ["a neighboring host's page", { "sec-fetch-site": "same-site" }],
  ["another origin in a browser without fetch metadata", { origin: "https://evil.example" }],
  ["an origin that hides", { origin: "null" }],
  ["no sign of a page at all", {}],
])("a session is neither opened, lengthened nor ended by %s", async (_name, headers: Record<string, string>) => {
  const { call, calls } = await start();
  const cookie = { cookie: `__Host-tributary=${USER_TOKEN}` };
  expect((await call("/api/auth/session", logIn(headers))).status).toBe(403);
  expect((await call("/api/auth/session/refresh", { method: "POST", headers: { ...headers, ...cookie } })).status).toBe(403);
  expect((await call("/api/auth/session", { method: "DELETE", headers: { ...headers, ...cookie } })).status).toBe(403);
  expect(calls).toEqual([]);
});

test("over https a planted plain cookie is not a session", async () => {
  const { call } = await start();
  const headers = { cookie: `tributary-session=${USER_TOKEN}`, "sec-fetch-site": "same-origin" };
  const refresh = (more: Record<string, string>) => call("/api/auth/session/refresh", { method: "POST", headers: { ...headers, ...more } });
  expect((await refresh({ "x-forwarded-proto": "https" })).status).toBe(401);
  expect((await refresh({})).status).toBe(200);
});

test("a master key in the cookie opens nothing", async () => {
  const { call } = await start();
  const headers = { cookie: "__Host-tributary=sk-1234567890123456", "sec-fetch-site": "same-origin" };
  expect((await call("/api/auth/session/refresh", { method: "POST", headers })).status).toBe(401);
});

test("log-out takes the cookies away even when the session was over already", async () => {
  const { call, origin } = await start();
  const cookie = "__Host-tributary=over.and.out";
  const answer = await call("/api/auth/session", { method: "DELETE", headers: { origin, cookie } });
  expect(answer.headers.getSetCookie().every((text) => text.includes("Max-Age=0"))).toBe(true);
  expect(answer.headers.getSetCookie()).toHaveLength(2);
});

test("the plain form logs in, says what is wrong, and gives back no markup that was typed", async () => {
  const { call, origin } = await start();
  const submit = (fields: Record<string, string>) =>
    call("/fallback/login", { method: "POST", headers: { origin }, body: new URLSearchParams(fields) });
  const right = await submit({ email: "a@example.com", password: "right" });
  expect([right.status, right.headers.get("location")]).toEqual([303, "/fallback/login"]);
  expect(right.headers.getSetCookie()[0]).toContain(USER_TOKEN);
  const wrong = await submit({ email: '"><script>alert(1)</script>', password: "wrong" });
  expect(wrong.status).toBe(401);
  const text = await wrong.text();
  expect(text).toContain("E-mail or password is wrong.");
  expect(text).not.toContain("<script>");
  const page = await call("/fallback/login", { headers: { cookie: `__Host-tributary=${USER_TOKEN}` } });
  expect(await page.text()).toContain("Logged in as <b>a@example.com</b>");
});
