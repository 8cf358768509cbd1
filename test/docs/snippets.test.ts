import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { textReply } from "../helpers/fake-upstream/script.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Block, blocksOf, PROGRAMS, pages, TEXTS } from "./blocks.ts";
import { pagesConfig } from "./pages-config.ts";
import { placed, runPage, type Stage } from "./run-page.ts";

const all: readonly Block[] = pages().flatMap((page) => blocksOf(page));
const runnable = Map.groupBy(all.filter(isRun), ({ page }) => page);
/** The client of the pages, from the tests' own Python. */
const python = process.env["TEST_PYTHON"];

/** Readers of these pages sign up with gw, and use what it saves. */
const SIGNS_UP = new Set(["README.md", "docs/quick-start.md"]);
const NO_PROFILE = { GW_TOKEN: "", GW_API_KEY: "" };

let folder: string;
let upstream: FakeUpstream;
let system: System;
let stage: Stage;

function isRun({ language, notRun }: Block): boolean {
  return PROGRAMS.has(language) && notRun === undefined;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-docs-"));
  const answer = [{ reply: textReply(["pong"]) }];
  upstream = await startFakeUpstream({ "gpt-4o": answer, "gpt-4o-eu": answer, "claude-sonnet-4-5": answer });
  writeFileSync(join(folder, "config.yaml"), pagesConfig(all, upstream.url));
  const env = { CONFIG: join(folder, "config.yaml"), COORDINATOR_POLL_MS: "50", STRATEGY_PYTHON: python ?? "python3" };
  system = await startSystem({ trainer: true, coordinator: true, env });
  stage = {
    url: system.url,
    trainerUrl: system.trainerUrl,
    python: python ?? "python3",
    log: () => system.controlPlane.stdout + system.controlPlane.stderr,
    env: {},
  };
});
afterAll(async () => {
  await system?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Each page has a reader with an organization of its own. */
const newReader = () => newTenant(system, { name: "reader", creditNano: 5_000_000_000 });

/** The variables of the quick start, and the same for gw. */
function variablesOf({ token, key }: Tenant): Record<string, string> {
  return { B: system.url, J: "content-type: application/json", KEY: key, TOKEN: token, GW_TOKEN: token, GW_API_KEY: key };
}

test("every block has a language that is known, and one that cannot run says why", () => {
  const strange = all.filter(({ language }) => !PROGRAMS.has(language) && !TEXTS.has(language));
  expect(strange.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
  expect(all.filter(({ notRun }) => notRun !== undefined && notRun.split(" ").length < 3)).toEqual([]);
  for (const { text, language } of all) if (language === "json") expect(() => JSON.parse(text)).not.toThrow();
  for (const { text, language } of all) if (language === "yaml") expect(parse(text)).toBeInstanceOf(Object);
  const left = all.filter(({ language, notRun }) => PROGRAMS.has(language) && notRun !== undefined);
  const shown = left.map(({ page, line, notRun }) => `  ${page}:${line}: ${notRun}`);
  process.stderr.write(
    `pages: ${all.filter(isRun).length} blocks of ${runnable.size} pages run, ${left.length} do not:\n${shown.join("\n")}\n`,
  );
});

test("a file that a page shows is used by a later block of the page", () => {
  const unused = all.filter(({ page, line, file }) => {
    const later = all.filter((other) => other.page === page && other.line > line);
    return file !== undefined && !later.some(({ text, language }) => language === "sh" && text.includes(file));
  });
  expect(unused).toEqual([]);
});

test("programs that a page starts listen on ports that are free here", () => {
  const shown = ["5601", "5602", "5611"];
  const ports = new Map(shown.map((port, index) => [port, 41_000 + index]));
  const texts = all.filter(isRun).map(({ text }) => placed(text, { ...stage, ports }));
  for (const port of ports.values()) expect(texts.some((text) => text.includes(String(port)))).toBe(true);
  expect(texts.filter((text) => /(PORT=|--port |^[A-Z]=)\d{4}\b/m.test(text))).toEqual([]);
});

if (python === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    const message = "NO PYTHON: the blocks of the pages do not run. Set TEST_PYTHON, or use `make test`.";
    process.stderr.write(`${message}\n`);
    if (process.env["CI"]) throw new Error(message);
    expect(message).toContain("NO PYTHON");
  });
} else {
  test.each([...runnable.keys()])("what %s shows works", async (page) => {
    const own = all.filter((block) => block.page === page);
    const env = { ...variablesOf(await newReader()), ...(SIGNS_UP.has(page) ? NO_PROFILE : {}) };
    await expect(runPage(own, { ...stage, env })).resolves.toBeUndefined();
  });
}

test("the configuration of the pages is in force: calls reach the providers that it names", async () => {
  const body = { model: "gpt-4", messages: [{ role: "user", content: "ping" }] };
  const answer = await call(system.url, "POST", "/v1/chat/completions", { key: (await newReader()).key, body });
  expect([answer.status, answer.body.choices[0].message.content]).toEqual([200, "pong"]);
  expect(upstream.requests.length).toBeGreaterThan(0);
});
