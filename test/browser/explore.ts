import { chat, newTenant } from "../helpers/api.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

export function exploreTests(stage: () => Stage): void {
  describe("what was called is seen, added up and asked again", () => {
    test("a call made elsewhere appears in open logs without a reload, and its panel shows its way into the ledger", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "watcher" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/logs");
      await page.getByText("No calls yet").waitFor();
      await chat(system, tenant.key, "seen at once");
      await page
        .getByRole("button", { name: /open this call/ })
        .first()
        .click();
      await page.getByRole("dialog").getByText("Ledger entry #").waitFor();
      await page.getByRole("dialog").getByText("Receipt signed with Ed25519").waitFor();
      expect(complaints).toEqual([]);
    });

    test("columns and filters of the log are kept, the panel shows what was reserved, and the filtered calls are a file", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "viewer" });
      await chat(system, tenant.key, "kept");
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/logs?status=success");
      await page.getByRole("button", { name: "Columns" }).click();
      await page.getByRole("checkbox", { name: "Reserved" }).check();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByLabel("Name of the view").fill("good ones");
      await page.getByRole("button", { name: "Save" }).click();
      await page.goto("/ui/logs");
      await page.getByRole("columnheader", { name: "Reserved" }).waitFor();
      await page.getByLabel("Histogram").check();
      await page.getByRole("img", { name: "Calls per day by status" }).waitFor();
      expect(await lookAt(page, "logs-tools")).toEqual([]);
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("menuitem", { name: "good ones", exact: true }).click();
      await page.waitForURL(/status=success/);
      await page.getByRole("button", { name: "Export" }).click();
      const download = page.waitForEvent("download");
      await page.getByRole("menuitem", { name: /JSON lines/ }).click();
      expect((await download).suggestedFilename()).toBe("usage-logs.jsonl");
      await page
        .getByRole("button", { name: /open this call/ })
        .first()
        .click();
      await page.getByRole("dialog").getByText("was reserved, the worst case;").waitFor();
      expect(complaints).toEqual([]);
    });

    test("the exported file adds up to the chart", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "exporter" });
      for (const words of ["one", "two words", "now three words"]) await chat(system, tenant.key, words);
      const { page } = await stage().visitAs(tenant);
      await page.goto("/ui/usage");
      await page.getByText("The chart has 3 calls").waitFor();
      await page.getByRole("button", { name: "Export CSV" }).click();
      await page.getByText("The file has 3 calls").waitFor();
      await page.getByText(", same as the chart.").waitFor();
      await page.getByRole("link", { name: "echo" }).click();
      await page.getByRole("heading", { level: 1, name: "Logs" }).waitFor();
      await page.getByText("3 calls,").waitFor();
    });

    test("the header has the balance, and the palette opens a record by its ID", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_500_000_000, name: "seeker" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/keys");
      await page.getByRole("link", { name: "Balance $1.50" }).waitFor();
      await page.keyboard.press("Control+K");
      await page.getByPlaceholder("paste an ID").fill(tenant.teamId);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/ui/teams/${tenant.teamId}`);
      expect(complaints).toEqual([]);
    });

    test("Show code has every chosen model", async () => {
      const tenant = await newTenant(stage().system, { name: "coder" });
      const { page } = await stage().visitAs(tenant);
      await page.goto("/ui/playground?models=echo,assistant");
      await page.getByRole("button", { name: "Show code" }).click();
      const dialog = page.getByRole("dialog", { name: "Code examples" });
      await dialog.locator("pre").getByText('"model": "echo"').waitFor();
      await dialog.getByRole("combobox", { name: "Model" }).click();
      await page.getByRole("option", { name: "assistant" }).click();
      await dialog.locator("pre").getByText('"model": "assistant"').waitFor();
    });

    test("the playground is a chat: Enter sends, Markdown is shown, a reload keeps the conversation, and the log-out takes it away", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "talker" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/playground?models=echo");
      const box = page.getByLabel("Your message");
      await box.fill("**deep** [sea](https://example.org/sea) [trap](javascript:alert(1))");
      await box.press("Shift+Enter");
      await box.pressSequentially("1. first");
      await box.press("Enter");
      const answer = page.locator('[data-role="assistant"]');
      await answer.locator("strong").getByText("deep").waitFor();
      expect(await answer.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))).toEqual([
        "https://example.org/sea",
      ]);
      await expect(box.inputValue()).resolves.toBe("");
      await page.reload();
      await answer.locator("strong").getByText("deep").waitFor();
      expect(await page.evaluate("document.documentElement.scrollHeight <= window.innerHeight + 1")).toBe(true);
      await page.getByRole("button", { name: /account of/ }).click();
      await page.getByRole("menuitem", { name: "Log out" }).click();
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      expect(await page.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('playground:'))")).toEqual([]);
      expect(complaints).toEqual([]);
    });

    test("the playground shows what a model says as text, what it cost, and takes its key away again", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "player" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/playground?models=echo");
      const hostile = `<img src=x onerror="alert(1)">`;
      await page.getByLabel("Your message").fill(hostile);
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator('[data-role="assistant"]').getByText(hostile).waitFor();
      await page
        .getByTestId("meter")
        .getByText(/^\$0\.0000\d+$/)
        .waitFor();
      await page.getByRole("button", { name: "Show code" }).click();
      const code = page.getByRole("dialog", { name: "Code examples" }).locator("pre");
      await expect(code.textContent()).resolves.toContain(JSON.stringify(hostile));
      await page.getByRole("tab", { name: "gw" }).click();
      await code.getByText("gw api POST /v1/chat/completions").waitFor();
      await page.keyboard.press("Escape");
      const removed = page.waitForResponse((response) => response.url().endsWith("/api/api-keys/remove"));
      await page.getByRole("link", { name: "API keys" }).click();
      expect((await removed).status()).toBe(200);
      expect(complaints).toEqual([]);
    });
  });
}
