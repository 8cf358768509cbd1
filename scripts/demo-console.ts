/** `make demo-console`: a new user in a real browser, from sign-up to a billed call and its chart, with a screenshot per step and the duration. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeFirstKey, signUp, stepDone } from "../test/browser/customer.ts";
import { openStage, SCREENS_FOLDER } from "../test/browser/stage.ts";

const TIME_MAX_MS = 120_000;
const folder = join(SCREENS_FOLDER, "demo");

mkdirSync(folder, { recursive: true });
const stage = await openStage();
try {
  const { page, complaints } = await stage.visit();
  const tookMs = await walk(page);
  const isGood = complaints.length === 0 && tookMs < TIME_MAX_MS;
  for (const complaint of complaints) console.log(`browser error: ${complaint}`);
  console.log(`from sign-up to a billed call and its chart: ${(tookMs / 1000).toFixed(1)} s; screenshots in test/browser/__screens__/demo`);
  process.exitCode = isGood ? 0 : 1;
} finally {
  await stage.stop();
}

async function walk(page: Page): Promise<number> {
  const beganAt = performance.now();
  let number = 0;
  const picture = async (what: string) => {
    number += 1;
    const name = `${String(number).padStart(2, "0")}-${what.replaceAll(" ", "-")}.png`;
    await page.screenshot({ path: join(folder, name) });
    console.log(`${((performance.now() - beganAt) / 1000).toFixed(1).padStart(6)} s  ${what}`);
  };
  await page.goto("/");
  await page.getByRole("link", { name: "Sign up" }).waitFor();
  await picture("first page");
  await page.getByRole("link", { name: "Sign up" }).click();
  await page.getByRole("button", { name: "Sign up" }).waitFor();
  await picture("sign up");
  await signUp(page, { email: "stranger@example.org", password: "a good password", name: "Ada Lovelace" });
  await page.getByRole("button", { name: "Create key" }).waitFor();
  await picture("getting started");
  await makeFirstKey(page, () => picture("secret of the key"));
  await page.getByRole("button", { name: /test credits/ }).click();
  await stepDone(page, 2);
  await picture("credits bought");
  await page.getByRole("button", { name: "Run this call" }).click();
  await stepDone(page, 3);
  await picture("first call");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("img", { name: "Requests over time, 1 total" }).waitFor();
  await page.locator(".chart-picture").nth(2).waitFor();
  await picture("chart");
  await page.getByRole("link", { name: "Credits", exact: true }).click();
  await page.getByRole("tab", { name: "Ledger" }).click();
  await page.getByRole("cell", { name: "usage" }).waitFor();
  await picture("ledger entry");
  return performance.now() - beganAt;
}
