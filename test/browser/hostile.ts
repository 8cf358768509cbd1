import { buy, call, chat, newTenant } from "../helpers/api.ts";
import type { Stage } from "./stage.ts";

const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

export function hostileTests(stage: () => Stage): void {
  test("names and model output that are scripts stay text on every screen that shows them", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "hostile" });
    const { token, teamId } = tenant;
    const named = (name: string) => name.slice(0, 100);
    await call(system.url, "PATCH", `/api/gw/teams/${teamId}`, { token, body: { name: named(SCRIPT) } });
    await call(system.url, "PUT", "/api/gw/organizations", { token, body: { name: named(SCRIPT) } });
    await call(system.url, "POST", "/api/api-keys/update", { token, body: { token: tenant.keyId, name: named(SCRIPT) } });
    await chat(system, tenant.key, SCRIPT, { user: SCRIPT.slice(0, 60) });
    const { page, complaints } = await stage().visitAs(tenant);
    for (const path of [
      "/ui/",
      "/ui/start",
      "/ui/keys",
      "/ui/teams",
      `/ui/teams/${teamId}?tab=keys`,
      "/ui/organization",
      "/ui/credits?tab=ledger",
    ]) {
      await page.goto(path);
      await page.waitForLoadState("networkidle");
      expect(await page.evaluate("window.hacked")).toBeUndefined();
      expect(await page.locator("img[src='x']").count()).toBe(0);
    }
    await page.goto("/ui/keys");
    await page.getByText("<img src=x onerror=", { exact: false }).first().waitFor();
    expect(complaints).toEqual([]);
  });

  test("the page's policy refuses an inline script, should one ever get in", async () => {
    const { page } = await stage().visit();
    await page.goto("/ui/login");
    await page.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.body.append(script);
    }`);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
  });

  test("two tenants see nothing of each other, whatever address they type", async () => {
    const { system } = stage();
    const [one, other] = [await newTenant(system, { name: "first-tenant" }), await newTenant(system, { name: "second-tenant" })];
    await call(system.url, "PATCH", `/api/gw/teams/${one.teamId}`, { token: one.token, body: { name: "Only of the first" } });
    await buy(system, one.token, 7_000_000_000);
    const { page } = await stage().visitAs(other);
    await page.goto(`/ui/teams/${one.teamId}`);
    await page.getByText("NOT_FOUND").waitFor();
    for (const path of ["/ui/", "/ui/teams", "/ui/keys", "/ui/organization", "/ui/credits"]) {
      await page.goto(path);
      await page.waitForLoadState("networkidle");
      const body = await page.locator("body").textContent();
      expect(body).not.toContain("Only of the first");
      expect(body).not.toContain("$7.00");
    }
  });

  test("another site can neither write with a visitor's session nor log a visitor in", async () => {
    const tenant = await newTenant(stage().system, { name: "forged" });
    const { context } = await stage().visitAs(tenant);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const bought = await context.request.post("/api/credits/purchase", { data: { amountUsd: "1.00" }, headers: foreign });
    expect(bought.status()).toBe(403);
    const loggedIn = await context.request.post("/api/auth/session", { data: tenant, headers: foreign });
    expect(loggedIn.status()).toBe(403);
    const unsaid = await context.request.post("/api/credits/purchase", { data: { amountUsd: "1.00" } });
    expect(unsaid.status()).toBe(403);
    const balance = (await (await context.request.get("/api/balance")).json()) as { balance: number };
    expect(balance.balance).toBe(0);
  });
}
