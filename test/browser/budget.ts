import type { Stage } from "./stage.ts";

const FIRST_SCREEN_SCRIPT_BYTES_MAX = 350 * 1024;
const FIRST_PAINT_MS_MAX = 5_000;

export function budgetTests(stage: () => Stage): void {
  test("the first screen needs less than 350 KB of gzipped script, and its files are kept for ever", async () => {
    const { page, context } = await stage().visit();
    // As the many clients that do not take brotli.
    await context.setExtraHTTPHeaders({ "accept-encoding": "gzip" });
    const sizes: { url: string; bytes: number; cache: string | undefined }[] = [];
    page.on("response", (response) => {
      const headers = response.headers();
      if (headers["content-type"]?.includes("javascript"))
        sizes.push({ url: response.url(), bytes: Number(headers["content-length"]), cache: headers["cache-control"] });
    });
    await page.goto("/ui/");
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
    process.stderr.write(
      `first screen: ${sizes.length} scripts, ${(total / 1024).toFixed(0)} KB gzip, first paint ${paint.toFixed(0)} ms\n`,
    );
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(FIRST_SCREEN_SCRIPT_BYTES_MAX);
    expect(paint).toBeLessThan(FIRST_PAINT_MS_MAX);
    expect(sizes.filter(({ cache }) => cache?.includes("immutable") !== true)).toEqual([]);
    // Charts are most of the weight, and nobody who logs in needs them.
    expect(sizes.map(({ url }) => url).filter((url) => url.includes("/charts-"))).toEqual([]);
  });
}
