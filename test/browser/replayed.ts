import { chat, newTenant } from "../helpers/api.ts";
import type { Stage } from "./stage.ts";

export function replayedTests(stage: () => Stage): void {
  describe("calls of a session are seen together", () => {
    test("from the panel of a call to its session, with sums, and from there to another call; another ID is asked for exactly", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "traveler" });
      const metadata = { session_id: "river/1" };
      for (const words of ["one", "two"]) await chat(system, tenant.key, words, { metadata });
      await chat(system, tenant.key, "by boat", { metadata, model: "unreachable" });
      await chat(system, tenant.key, "not of it", { metadata: { session_id: "river/12" } });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/logs?tag=session%3Ariver%2F1");
      await page.getByText("3 calls,").waitFor();
      await page
        .getByRole("button", { name: /open this call/ })
        .first()
        .click();
      await page.getByRole("dialog").getByRole("link", { name: "Open session" }).click();
      await page.getByRole("heading", { level: 1, name: "Session" }).waitFor();
      await page.getByText("1 without success").waitFor();
      const rows = page.getByRole("table", { name: "Calls of the session" }).locator("tbody tr");
      expect(await rows.count()).toBe(3);
      await rows.last().getByText("error").waitFor();
      await rows
        .first()
        .getByRole("button", { name: /open this call/ })
        .click();
      await page.getByRole("dialog").getByText("Ledger entry #").waitFor();
      await page.keyboard.press("Escape");
      await page.getByLabel("Session ID, exactly").fill("river/12");
      await page.waitForURL(/session=river%2F12/);
      await page.getByText("0 without success").waitFor();
      expect(await rows.count()).toBe(1);
      expect(complaints).toEqual([]);
    });
  });
}
