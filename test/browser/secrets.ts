import type { Page } from "playwright-core";
import { newTenant } from "../helpers/api.ts";
import { signUp, stepDone } from "./customer.ts";
import type { Stage } from "./stage.ts";

export function secretTests(stage: () => Stage): void {
  describe("a secret that is shown once stays until the user confirms that it is saved", () => {
    test("in Getting started, although the list polls and completes the step meanwhile", async () => {
      const { page, complaints } = await stage().visit();
      await signUp(page, { email: "slow-reader@example.org", password: "a good password", name: "Slow Reader" });
      await page.getByRole("button", { name: "Create key" }).click();
      const secret = page.getByTestId("secret").locator("pre");
      await secret.waitFor();
      const shown = await secret.textContent();
      expect(shown).toMatch(/^sk-/);
      await keysPolled(page, 2);
      await stepDone(page, 1);
      await keysPolled(page, 1);
      await expect(secret.textContent({ timeout: 1_000 })).resolves.toBe(shown);
      await page.getByLabel("I have saved").check();
      await page.getByRole("button", { name: "Done" }).click();
      await secret.waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
    });

    test("join tokens of a new federation, although a click outside or Escape closes other dialogs", async () => {
      const tenant = await newTenant(stage().system, { name: "host" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/training");
      await page.getByRole("button", { name: "Create federation" }).first().click();
      await page.getByLabel("Name").fill("behind a firewall");
      await page.getByLabel("Join tokens").fill("2");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      const tokens = page.getByTestId("secret").locator("pre");
      await tokens.nth(1).waitFor();
      await page.keyboard.press("Escape");
      await page.mouse.click(5, 5);
      await expect(tokens.count()).resolves.toBe(2);
      await page.getByLabel("I have saved").check();
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("heading", { level: 1, name: "behind a firewall" }).waitFor();
      expect(complaints).toEqual([]);
    });
  });
}

/** Waits for answers of the list of keys, as the screen asks for it by itself. */
async function keysPolled(page: Page, times: number): Promise<void> {
  for (let seen = 0; seen < times; seen++) {
    await page.waitForResponse((response) => response.request().method() === "GET" && new URL(response.url()).pathname === "/api/api-keys");
  }
}
