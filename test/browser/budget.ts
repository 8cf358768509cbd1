import type { Page } from "playwright-core";
import { newTenant } from "../helpers/api.ts";
import type { Stage, Visitor } from "./stage.ts";

const SCRIPT_BYTES_MAX = 350 * 1024;
const STYLE_BYTES_MAX = 64 * 1024;
const FIRST_PAINT_MS_MAX = 5_000;

interface Weight {
  readonly scripts: readonly string[];
  readonly scriptBytes: number;
  readonly styleBytes: number;
  /** Of script and style files that browsers may not keep. */
  readonly forgotten: readonly string[];
  readonly firstPaintMs: number;
}

/** Measures the download of a first visit with an empty cache and its first paint on loopback, prints both and compares them with the budget. */
export function budgetTests(stage: () => Stage): void {
  describe("the budget of a first visit, in gzip as for clients that do not take brotli", () => {
    test("log-in: below 350 KB of script without a byte of charts, and its files are kept for ever", async () => {
      const weight = await weigh(await stage().visit(), (page) => page.getByRole("heading", { name: "Log in" }).waitFor());
      hold("log-in", weight);
      // Charts are most of the weight, and the log-in screen does not need them.
      expect(weight.scripts.filter((url) => url.includes("/charts-"))).toEqual([]);
    });

    test("overview, charts and all: below 350 KB of script as well", async () => {
      const tenant = await newTenant(stage().system, { name: "weigher" });
      hold("overview", await weigh(await stage().visitAs(tenant), (page) => page.locator(".recharts-surface").first().waitFor()));
    });
  });
}

function hold(name: string, { scripts, scriptBytes, styleBytes, forgotten, firstPaintMs }: Weight): void {
  const kb = (bytes: number) => `${(bytes / 1024).toFixed(0)} KB`;
  process.stderr.write(
    `console budget, ${name}: script ${kb(scriptBytes)} of ${kb(SCRIPT_BYTES_MAX)} gzip in ${scripts.length} files, ` +
      `style ${kb(styleBytes)} of ${kb(STYLE_BYTES_MAX)}, first paint ${firstPaintMs.toFixed(0)} ms of ${FIRST_PAINT_MS_MAX} ms\n`,
  );
  // Less than this means that the measure is broken, not that the console is light.
  expect(scriptBytes).toBeGreaterThan(50_000);
  expect(scriptBytes).toBeLessThan(SCRIPT_BYTES_MAX);
  expect(styleBytes).toBeLessThan(STYLE_BYTES_MAX);
  expect(firstPaintMs).toBeGreaterThan(0);
  expect(firstPaintMs).toBeLessThan(FIRST_PAINT_MS_MAX);
  expect(forgotten).toEqual([]);
}

async function weigh({ page, context }: Visitor, ready: (page: Page) => Promise<unknown>): Promise<Weight> {
  await context.setExtraHTTPHeaders({ "accept-encoding": "gzip" });
  const files: { url: string; type: string; bytes: number; cache: string }[] = [];
  page.on("response", (response) => {
    const { "content-type": type = "", "content-length": length, "cache-control": cache = "" } = response.headers();
    if (/javascript|css/.test(type)) files.push({ url: response.url(), type, bytes: Number(length), cache });
  });
  await page.goto("/ui/");
  await ready(page).catch(async (cause: unknown) => {
    throw new Error(`the page is not ready, it shows: ${await page.locator("body").textContent()}`, { cause });
  });
  const firstPaintMs = await page.evaluate<number>(FIRST_PAINT);
  const bytesOf = (type: string) => files.filter((file) => file.type.includes(type)).reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    scripts: files.filter(({ type }) => type.includes("javascript")).map(({ url }) => url),
    scriptBytes: bytesOf("javascript"),
    styleBytes: bytesOf("css"),
    forgotten: files.filter(({ cache }) => !cache.includes("immutable")).map(({ url }) => url),
    firstPaintMs,
  };
}

/** The browser reports the paint a little after it happens, so the script waits for the report. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true });
})`;
