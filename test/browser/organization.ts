import { call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

export function organizationTests(stage: () => Stage): void {
  const settingsOf = async ({ token }: Tenant) => (await call(stage().system.url, "GET", "/api/auth/me", { token })).body.organization;

  describe("an owner sets up the organization on its screens", () => {
    test("the semantic cache is turned on with an own similarity and model, is as saved after a reload, and goes back to the operator's", async () => {
      const tenant = await newTenant(stage().system, { name: "similar" });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/organization");
      const card = page.getByRole("region", { name: "Semantic cache" });
      const choose = async (mode: string) => {
        await card.getByRole("combobox", { name: "Similar texts" }).click();
        await page.getByRole("option", { name: mode, exact: true }).click();
      };
      await choose("On");
      await card.getByLabel("Least similarity").fill("1.5");
      await card.getByRole("button", { name: "Save" }).click();
      await card.getByText("Enter a number above 0 and at most 1").waitFor();
      expect((await settingsOf(tenant)).semanticCache).toBeNull();
      await card.getByLabel("Least similarity").fill("0.93");
      await card.getByLabel("Embedding model").fill("text-embedding-3-small");
      await card.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved. It applies to calls within a second.").waitFor();
      expect((await settingsOf(tenant)).semanticCache).toMatchObject({
        enabled: true,
        threshold: 0.93,
        embeddingModel: "text-embedding-3-small",
      });
      await page.reload();
      await card.getByText("Source: this organization.").waitFor();
      await expect(card.getByLabel("Least similarity").inputValue()).resolves.toBe("0.93");
      await choose("As the operator decided");
      await card.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved. It applies to calls within a second.").waitFor();
      expect((await settingsOf(tenant)).semanticCache).toBeNull();
      expect(complaints).toEqual([]);
    });

    test("a webhook is deleted only after a question", async () => {
      const tenant = await newTenant(stage().system, { name: "hooked" });
      const { page, complaints } = await stage().visitAs(tenant);
      const body = { url: "https://example.org/hook", events: ["balance.low"] };
      expect((await call(stage().system.url, "POST", "/api/gw/webhooks", { token: tenant.token, body })).status).toBe(201);
      await page.goto("/ui/organization");
      const remove = page.getByRole("button", { name: "Delete https://example.org/hook" });
      await remove.click();
      const dialog = page.getByRole("dialog", { name: "Delete webhook" });
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
      await remove.click();
      await dialog.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByText("No webhooks yet").waitFor();
      expect(complaints).toEqual([]);
    });

    test("the audit log names people, leads from a row to all entries of a person or action, and is a file", async () => {
      const { system } = stage();
      const [owner, member] = [await newTenant(system, { name: "auditor" }), await newTenant(system, { name: "audited" })];
      const ask = (path: string, body: object) => call(system.url, "POST", path, { token: owner.token, body });
      await ask("/api/gw/teams", { name: "Delta" });
      await ask("/api/gw/teams/invite-member", { teamId: owner.teamId, email: member.email });
      const { page, complaints } = await stage().visitAs(owner);
      await page.goto("/ui/");
      await page.getByRole("link", { name: "Audit log" }).click();
      const rows = page.getByRole("table", { name: "Audit log" }).locator("tbody tr");
      await rows.filter({ hasText: "team.create" }).filter({ hasText: owner.email }).filter({ hasText: "name: Delta" }).waitFor();
      expect(await lookAt(page, "audit")).toEqual([]);
      await page.getByRole("button", { name: "team.create" }).first().click();
      await page.waitForURL(/action=team\.create/);
      await page.getByText("1 entry").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByRole("button", { name: owner.email }).first().click();
      await page.waitForURL(/actor=/);
      await page.getByText(`by ${owner.email}`).waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("link", { name: "Export JSON lines" }).click();
      expect((await download).suggestedFilename()).toBe("audit-log.jsonl");
      expect(complaints).toEqual([]);
    });

    test("the header switches the organization, and has its balance and the documentation; members have no audit log", async () => {
      const { system } = stage();
      const [host, guest] = [
        await newTenant(system, { name: "hostess", creditNano: 7_000_000_000 }),
        await newTenant(system, { name: "switcher", creditNano: 2_000_000_000 }),
      ];
      const ask = (token: string, path: string, body: object) => call(system.url, "POST", path, { token, body });
      const invited = await ask(host.token, "/api/gw/teams/invite-member", { teamId: host.teamId, email: guest.email });
      expect(invited.status).toBe(201);
      const token = new URL(invited.body.inviteUrl).searchParams.get("token") ?? "";
      expect((await ask(guest.token, "/api/invitations/accept", { token })).status).toBe(200);
      const { page, complaints } = await stage().visitAs(guest);
      await page.goto("/ui/keys");
      await page.getByRole("link", { name: "API documentation" }).waitFor();
      await page.getByRole("link", { name: "Balance $2.00" }).waitFor();
      await page.getByRole("link", { name: "Audit log" }).waitFor();
      await page.getByRole("button", { name: "Organization switcher" }).click();
      await page.getByRole("menuitem", { name: "hostess" }).click();
      await page.getByRole("link", { name: "Balance $7.00" }).waitFor();
      await page.getByRole("button", { name: "Organization hostess" }).waitFor();
      await page.getByRole("link", { name: "Audit log" }).waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
    });
  });

  test("the panel of a failed call has the provider's own words, also where there was one attempt only", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "failed" });
    // No other test calls it: after one failure a deployment rests.
    const { headers } = await chat(system, tenant.key, "by boat", { model: "adrift" });
    const { page, complaints } = await stage().visitAs(tenant);
    await page.goto(`/ui/logs?call=${headers.get("x-gw-call-id")}`);
    const panel = page.getByRole("dialog");
    await panel.getByText("Attempt 1: openai").waitFor();
    await panel.getByText("UPSTREAM_UNAVAILABLE:").waitFor();
    expect(complaints).toEqual([]);
  });
}
