import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Tenant } from "../helpers/api.ts";
import { type System, type SystemOptions, startSystem } from "../helpers/system.ts";
import { launchChromium } from "./chromium.ts";

export const SCREENS_FOLDER = resolve(import.meta.dirname, "__screens__");
const CONSOLE_PAGE = resolve(import.meta.dirname, "../../console/dist/index.html");
const ACTION_MAX_MS = 25_000;

/** What a page must never do, as it did it: an uncaught error, a refused script, a warning of React. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
}

/** One running system and one browser for all tests of a file. */
export interface Stage {
  readonly system: System;
  /** A browser profile of its own: cookies and storage of no other visitor. */
  visit(options?: { scheme?: "light" | "dark"; width?: number; scripts?: boolean }): Promise<Visitor>;
  /** A visitor whose session is the tenant's, logged in as the console does. */
  visitAs(tenant: Pick<Tenant, "email" | "password">, options?: Parameters<Stage["visit"]>[0]): Promise<Visitor>;
  /** Visitors who come from now on leave with `end`. */
  begin(): void;
  /** Pages that stay open go on asking for news and drawing it, beside every later test. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

/** With `paceSeconds` every action of a visitor is followed by a pause, as a person makes one. */
export async function openStage(options?: SystemOptions, { paceSeconds = 0 } = {}): Promise<Stage> {
  if (!existsSync(CONSOLE_PAGE)) throw new Error("The console is not built: run `make console` first.");
  const [system, browser] = await Promise.all([startSystem(options), launchChromium({ slowMo: paceSeconds * 1000 })]);
  let leaving: BrowserContext[] = [];
  const visit: Stage["visit"] = async (options = {}) => {
    const visitor = await openVisitor({ browser, system }, options);
    leaving.push(visitor.context);
    return visitor;
  };
  return {
    system,
    visit,
    async visitAs({ email, password }, options) {
      const visitor = await visit(options);
      const answer = await visitor.context.request.post("/api/auth/session", {
        data: { email, password },
        headers: { origin: system.url },
      });
      if (answer.status() !== 200) throw new Error(`log-in answered ${answer.status()}: ${await answer.text()}`);
      return visitor;
    },
    begin() {
      leaving = [];
    },
    async end() {
      await Promise.all(leaving.splice(0).map((context) => context.close()));
    },
    async stop() {
      await browser.close();
      await system.stop();
    },
  };
}

async function openVisitor(
  { browser, system }: { browser: Browser; system: System },
  { scheme = "light", width = 1280, scripts = true }: NonNullable<Parameters<Stage["visit"]>[0]>,
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: system.url,
    colorScheme: scheme,
    viewport: { width, height: 900 },
    javaScriptEnabled: scripts,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(ACTION_MAX_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    // A refused call is logged by the browser itself, and shown by the screen; that is judged where it is tested.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  return { page, context, complaints };
}
