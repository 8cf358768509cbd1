import type { Page } from "playwright-core";
import { call, chat, newTenant } from "../helpers/api.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

/** The element over the chart that takes the pointer and the keyboard. */
const cursorOf = (page: Page, name: RegExp) => page.getByRole("slider", { name });

export function chartTests(stage: () => Stage): void {
  describe("charts lead to the calls they are made of", () => {
    test("a bar leads to the logs of its time and series, a dragged range zooms, and Reset zoom returns", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "charted" });
      expect((await chat(system, tenant.key, "one bar")).status).toBe(200);
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/usage?range=24h&metric=requests");
      const cursor = cursorOf(page, /^Requests per hour/);
      await page.getByText("The chart has 1 call").waitFor();

      const box = await cursor.boundingBox();
      if (!box) throw new Error("the chart has no size");
      const middle = box.y + box.height / 2;
      await page.mouse.move(box.x + box.width * 0.52, middle);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.8, middle, { steps: 3 });
      await page.mouse.move(box.x + box.width - 3, middle);
      await page.mouse.up();
      await page.waitForURL(/from=.*to=/);
      await page.getByText("The chart has 1 call").waitFor();
      await expect(cursor.getAttribute("aria-valuemax")).resolves.toBe("11");

      // The last bar of the zoomed chart is the current hour, whose only call is of this model.
      await cursor.click({ position: { x: box.width - 20, y: box.height - 12 } });
      await page.waitForURL(/\/ui\/logs\?.*model=echo/);
      await page.getByText("1 call,").waitFor();

      await page.goBack();
      await page.getByRole("button", { name: "Reset zoom" }).click();
      await page.waitForURL((url) => !url.searchParams.has("from"));
      expect(complaints).toEqual([]);
    });

    test("by keyboard a chart reads its values with the total, and Enter opens the calls of the hour", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "typist" });
      expect((await chat(system, tenant.key, "one bar")).status).toBe(200);
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/");
      await page.getByRole("img", { name: "Requests over time, 1 total" }).waitFor();
      const cursor = cursorOf(page, /^Requests over time/);
      await cursor.focus();
      await page.keyboard.press("End");
      await expect(cursor.getAttribute("aria-valuetext")).resolves.toMatch(/^\d\d:00: Succeeded 1, Errors 0, total 1$/);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/ui\/logs\?from=/);
      await page.getByText("1 call,").waitFor();
      expect(complaints).toEqual([]);
    });

    test("the log is sorted by the head of a column, and a bar of its histogram shows the calls of its day and status", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "sorter" });
      for (const words of ["one", "two three four five", "six seven"]) expect((await chat(system, tenant.key, words)).status).toBe(200);
      await chat(system, tenant.key, "refused", { model: "no-such-model" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/logs");
      const rows = page.getByRole("table", { name: "Calls" }).locator("tbody tr");
      await rows.nth(3).waitFor();
      await page.getByRole("button", { name: "Cost", exact: true }).click();
      await page.getByRole("columnheader", { name: "Cost" }).and(page.locator("[aria-sort=descending]")).waitFor();
      // Four words in and out.
      await rows.nth(0).getByText("$0.000012").waitFor();
      await rows.nth(1).getByText("$0.000006").waitFor();
      await page.getByRole("button", { name: "Time", exact: true }).click();
      await rows.nth(0).getByText("refused").waitFor();
      await page.getByLabel("Histogram").check();
      const cursor = cursorOf(page, /^Calls per day by status/);
      const box = await cursor.boundingBox();
      if (!box) throw new Error("the histogram has no size");
      // Today, where the bar begins: calls that succeeded are the larger part of it.
      await cursor.click({ position: { x: box.width - 8, y: box.height - 4 } });
      await page.waitForURL(/from=.*status=success|status=success.*from=/);
      await page.getByText("3 calls,").waitFor();
      await expect(rows.count()).resolves.toBe(3);
      await cursorOf(page, /^Calls per hour by status/).waitFor();
      expect(complaints).toEqual([]);
    });

    test("a team with a budget shows what is left of it and when it ends", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "budgeted" });
      const body = { maxBudget: 20_000, budgetPeriod: "monthly" };
      expect((await call(system.url, "PATCH", `/api/gw/teams/${tenant.teamId}`, { token: tenant.token, body })).status).toBe(200);
      expect((await chat(system, tenant.key, "hello river")).status).toBe(200);
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto(`/ui/teams/${tenant.teamId}?tab=usage`);
      await page.getByText("$0.000006 of $0.000020 spent").waitFor();
      await page.getByText(/^At this rate /).waitFor();
      await page.getByRole("img", { name: /^Budget left per day/ }).waitFor();
      expect(await lookAt(page, "team-budget")).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });
}
