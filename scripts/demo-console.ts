/**
 * `make demo-console`: a new user in a real browser, from sign-up to a billed call and its chart, at the speed of a person: a pause of PACE seconds (1.5)
 * for each field that is typed and each screen that is read. Prints the time of each step, and the whole with and without the pauses; keeps a screenshot per step.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { fillSignUp, makeFirstKey, stepDone } from "../test/browser/customer.ts";
import { Pace, paceSeconds } from "../test/browser/pace.ts";
import { openStage, SCREENS_FOLDER } from "../test/browser/stage.ts";

const TIME_MAX_MS = 120_000;
const PERSON_SECONDS = 1.5;
const folder = join(SCREENS_FOLDER, "demo");

mkdirSync(folder, { recursive: true });
const pace = new Pace(paceSeconds(PERSON_SECONDS));
const stage = await openStage();
try {
  const { page, complaints } = await stage.visit();
  const tookMs = await walk(page);
  for (const complaint of complaints) console.log(`browser error: ${complaint}`);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const pauses =
    pace.pauseMs === 0 ? "without pauses" : `with pauses of ${seconds(pace.pauseMs)}, ${seconds(tookMs - pace.pausedMs)} without them`;
  console.log(`from sign-up to a billed call and its chart: ${seconds(tookMs)} ${pauses}; screenshots in test/browser/__screens__/demo`);
  process.exitCode = complaints.length === 0 && tookMs < TIME_MAX_MS ? 0 : 1;
} finally {
  await stage.stop();
}

async function walk(page: Page): Promise<number> {
  const { pause } = pace;
  const beganAt = performance.now();
  let number = 0;
  const picture = async (what: string) => {
    number += 1;
    const name = `${String(number).padStart(2, "0")}-${what.replaceAll(" ", "-")}.png`;
    await page.screenshot({ path: join(folder, name) });
    console.log(`${((performance.now() - beganAt) / 1000).toFixed(1).padStart(6)} s  ${what}`);
  };
  /** A screen is looked at before the next click. */
  const read = async (what: string) => {
    await picture(what);
    await pause();
  };
  await page.goto("/");
  await page.getByRole("link", { name: "Sign up" }).waitFor();
  await read("first page");
  await page.getByRole("link", { name: "Sign up" }).click();
  await page.getByRole("button", { name: "Sign up" }).waitFor();
  await read("sign up");
  await fillSignUp(page, { email: "stranger@example.org", password: "a good password", name: "Ada Lovelace" }, pause);
  await page.getByRole("button", { name: "Create key" }).waitFor();
  await read("getting started");
  await makeFirstKey(page, { look: () => picture("secret of the key"), pause });
  await pause();
  await page.getByRole("button", { name: /test credits/ }).click();
  await stepDone(page, 2);
  await read("credits bought");
  await page.getByRole("button", { name: "Run this call" }).click();
  await stepDone(page, 3);
  await read("first call");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("img", { name: "Requests over time, 1 total" }).waitFor();
  await page.locator(".chart-picture").nth(2).waitFor();
  await read("chart");
  await page.getByRole("link", { name: "Credits", exact: true }).click();
  await page.getByRole("tab", { name: "Ledger" }).click();
  await page.getByRole("cell", { name: "usage" }).waitFor();
  await picture("ledger entry");
  return performance.now() - beganAt;
}
