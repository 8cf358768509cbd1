import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { systemClock } from "../../../../common/clock.ts";
import { systemRandom } from "../../../../common/random.ts";
import { type Listener, listen } from "../../listen.ts";
import { requestId } from "../../middleware/request-id.ts";
import { securityHeaders } from "../../middleware/security-headers.ts";
import { agentPages } from "./agent-pages.ts";
import { siteFiles } from "./site-files.ts";

const INLINE = "document.documentElement.classList.add('mac')";
const opened: Listener[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "site-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((listener) => listener.stop()));
  rmSync(folder, { recursive: true });
});

function build(): void {
  for (const name of ["guides", "assets"]) mkdirSync(join(folder, name));
  writeFileSync(
    join(folder, "index.html"),
    `<title>guides</title><script id="os">${INLINE}</script><script type="module" src="/docs/assets/app.abc.js"></script>`,
  );
  writeFileSync(join(folder, "guides/keys.html"), "<title>keys</title>");
  writeFileSync(join(folder, "guides/keys.md"), "# Keys");
  writeFileSync(join(folder, "assets/app.abc.js"), "start()");
  writeFileSync(join(folder, "llms-full.txt"), "# Keys");
}

/** The site before a page at /docs, as the app has it. */
async function start(docs?: string) {
  const app = express();
  app.use(requestId({ clock: systemClock, random: systemRandom }), securityHeaders);
  app.use("/docs", siteFiles(folder));
  app.use(agentPages(docs));
  app.get("/docs", (_request, response) => void response.end("the API reference"));
  const listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: () => undefined });
  opened.push(listener);
  return (path: string) => fetch(`http://127.0.0.1:${listener.port}${path}`);
}

test("pages are served by their address without an extension, as Markdown by their source, and hashed files for ever", async () => {
  build();
  const call = await start();
  expect(await (await call("/docs/")).text()).toContain("<title>guides</title>");
  expect(await (await call("/docs/guides/keys")).text()).toContain("<title>keys</title>");
  const source = await call("/docs/guides/keys.md");
  expect([source.headers.get("content-type"), await source.text()]).toEqual(["text/markdown; charset=utf-8", "# Keys"]);
  expect((await call("/docs/assets/app.abc.js")).headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  for (const path of ["/docs/guides/none", "/docs/..%2f..%2fpackage.json", "/docs/%2e%2e/package.json"])
    expect((await call(path)).status).toBe(404);
});

test("a page runs scripts of this origin, and those inline that it was built with, and nothing else", async () => {
  build();
  const call = await start();
  const page = await call("/docs/");
  const hash = createHash("sha256").update(INLINE).digest("base64");
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
  expect(policy).toMatch(/^default-src 'none';.*frame-ancestors 'none'$/);
  expect([page.headers.get("x-content-type-options"), page.headers.get("x-frame-options")]).toEqual(["nosniff", "DENY"]);
  expect((await call("/docs/guides/keys")).headers.get("content-security-policy")).toContain("script-src 'self';");
});

test("/docs stays the API reference, with a site and without, and a site that is built later is served at once", async () => {
  const call = await start();
  for (const path of ["/docs", "/docs/"]) expect(await (await call(path)).text()).toBe("the API reference");
  expect((await call("/docs/guides/keys")).status).toBe(404);
  build();
  expect(await (await call("/docs")).text()).toBe("the API reference");
  expect(await (await call("/docs?x=1")).text()).toBe("the API reference");
  expect(await (await call("/docs/")).text()).toContain("<title>guides</title>");
});

test("a site that is being built is not served, and one that could not be read is read again", async () => {
  const call = await start();
  writeFileSync(join(folder, "index.html"), "<title>half</title>");
  expect(await (await call("/docs/")).text()).toBe("the API reference");
  rmSync(join(folder, "index.html"));
  writeFileSync(join(folder, "llms-full.txt"), "");
  expect((await call("/docs/")).status).toBe(500);
  build();
  expect(await (await call("/docs/")).text()).toContain("<title>guides</title>");
});

test("agents get the list of pages and the page that says how to use the platform", async () => {
  const call = await start();
  const list = await call("/llms.txt");
  expect([list.status, list.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(await list.text()).toMatch(/^# Tributary\n/);
  const skill = await call("/api/agents/skill");
  expect([skill.status, skill.headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
  expect(await skill.text()).toContain("/v1/chat/completions");
});

test("a page for agents that could not be read is read again", async () => {
  const call = await start(folder);
  expect((await call("/llms.txt")).status).toBe(500);
  writeFileSync(join(folder, "llms.txt"), "# Pages");
  const list = await call("/llms.txt");
  expect([list.status, await list.text()]).toEqual([200, "# Pages"]);
});
