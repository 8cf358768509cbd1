import type { Page } from "playwright-core";
import { adminToken, call, chat, newTenant } from "../helpers/api.ts";
import { makeFirstKey, signUp, stepDone } from "./customer.ts";
import type { Stage } from "./stage.ts";

/** The echo model takes 1,000 nano-USD a token in and 2,000 a token out. */
const TWO_WORDS_NANO = 6_000;

export function lifeTests(stage: () => Stage): void {
  test("a stranger signs up, makes a key, buys, calls, sees the chart move, is blocked, buys with one click and calls again", async () => {
    const { system } = stage();
    const { page, complaints } = await stage().visit();
    await signUp(page, { email: "stranger@example.org", password: "a good password", name: "Ada" });

    const secret = await makeFirstKey(page);
    expect((await chat(system, secret, "too early")).status).toBe(429);
    await page.getByRole("button", { name: /test credits/ }).click();
    await stepDone(page, 2);
    await page.getByRole("button", { name: "Run this call" }).click();
    await page.getByText("Response: “hello river”").waitFor();
    await stepDone(page, 3);

    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("img", { name: "Requests over time, 1 total" }).waitFor();
    expect((await chat(system, secret, "hello again")).status).toBe(200);
    // Without a reload.
    await page.getByRole("img", { name: "Requests over time, 2 total" }).waitFor();
    const balance = page.locator("[data-nano]").first();
    const spentTwice = 5_000_000_000 - 2 * TWO_WORDS_NANO;
    await expect(balance.getAttribute("data-nano")).resolves.toBe(`${spentTwice.toLocaleString("en-US")} nano-USD`);

    await emptyBalance(system.url, page);
    expect((await chat(system, secret, "the last")).status).toBe(200);
    // The edge may know the empty balance before it receives the block.
    expect(["TEAM_BLOCKED", "QUOTA_EXCEEDED"]).toContain((await chat(system, secret, "one too many")).body.error.code);
    const banner = page.getByTestId("blocked-banner");
    await banner.getByText("Your teams are blocked").waitFor();
    await banner.getByRole("button", { name: "Buy $10.00" }).click();
    await banner.waitFor({ state: "detached" });
    expect((await chat(system, secret, "works again")).status).toBe(200);
    expect(complaints).toEqual([]);
  });

  test("log-out ends the session on the server, and a link to a screen leads back to it after the log-in", async () => {
    const tenant = await newTenant(stage().system, { name: "leaver" });
    const { page, context } = await stage().visitAs(tenant);
    await page.goto("/ui/keys");
    const cookies = await context.cookies();
    await page.getByRole("button", { name: /account of/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    expect((await context.cookies()).filter(({ value }) => value !== "")).toEqual([]);
    // The stolen copy of the cookie is worth nothing either.
    await context.addCookies(cookies);
    expect((await context.request.get("/api/auth/me")).status()).toBe(401);
    await context.clearCookies();

    await page.goto("/ui/credits?tab=ledger");
    await page.getByLabel("Email").fill(tenant.email);
    await page.getByRole("textbox", { name: "Password" }).fill(tenant.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL("**/ui/credits?tab=ledger");
    await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
  });

  test("an invitation's link makes the account that joins the team", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { name: "inviter" });
    const { page } = await stage().visitAs(tenant);
    await page.goto(`/ui/teams/${tenant.teamId}`);
    await page.getByLabel("Invite by email").fill("guest@example.org");
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    const link = await linkOn(page);
    const guest = await stage().visit();
    await guest.page.goto(link);
    await guest.page.getByRole("heading", { name: "Join your team" }).waitFor();
    await guest.page.getByRole("link", { name: "Sign up" }).click();
    await expect(guest.page.getByLabel("Email").inputValue()).resolves.toBe("guest@example.org");
    await guest.page.getByLabel("Password", { exact: false }).first().fill("a good password");
    await guest.page.getByRole("button", { name: "Sign up" }).click();
    await guest.page.waitForURL("**/ui/teams");
    // The organization that invited is the active one: its team is the one on the screen.
    await guest.page.getByRole("link", { name: "Default" }).click();
    await guest.page.waitForURL(`**/ui/teams/${tenant.teamId}`);
    await page.reload();
    await page.getByRole("row", { name: /guest@example\.org.*active/ }).waitFor();
  });

  test("an account accepts an invitation after its log-in, and another account sees that it is not for it", async () => {
    const { system } = stage();
    const [tenant, invited, other] = [
      await newTenant(system, { name: "host" }),
      await newTenant(system, { name: "invited" }),
      await newTenant(system, { name: "other" }),
    ];
    const { page } = await stage().visitAs(tenant);
    await page.goto(`/ui/teams/${tenant.teamId}`);
    await page.getByLabel("Invite by email").fill(invited.email);
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    const link = await linkOn(page);
    const guest = await stage().visitAs(other);
    await guest.page.goto(link);
    await guest.page.getByText("The invitation is not for this account").waitFor();
    await guest.page.getByRole("button", { name: "Log in with another account" }).click();
    await guest.page.getByRole("textbox", { name: "Password" }).fill(invited.password);
    await expect(guest.page.getByLabel("Email").inputValue()).resolves.toBe(invited.email);
    await guest.page.getByRole("button", { name: "Log in" }).click();
    await guest.page.getByRole("heading", { name: "Join Default" }).waitFor();
    await guest.page.getByRole("button", { name: "Accept invitation" }).click();
    await guest.page.waitForURL(`**/ui/teams/${tenant.teamId}`);
    await page.reload();
    await page.getByRole("row", { name: new RegExp(`${invited.email}.*active`) }).waitFor();
  });

  test("a key for calls only makes them and is refused for training, and its edit keeps that", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { creditNano: 1_000_000, name: "narrow" });
    const { page } = await stage().visitAs(tenant);
    await page.goto("/ui/keys?new=key");
    await page.getByLabel("Name").fill("app");
    await page.getByRole("combobox", { name: "Used for" }).click();
    await page.getByRole("option", { name: "Calls only" }).click();
    await page.getByRole("button", { name: "Create key", exact: true }).last().click();
    const key = (await page.getByTestId("secret").locator("pre").textContent())?.trim() ?? "";
    await page.getByLabel("I have saved").check();
    await page.getByRole("button", { name: "Done" }).click();
    expect((await call(system.url, "GET", "/training/federations", { key })).status).toBe(403);
    expect((await call(system.url, "GET", "/v1/models", { key })).status).toBe(200);

    await page.getByRole("button", { name: "Actions for app" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.getByLabel("Name").fill("app of ours");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /app of ours.*calls only/ }).waitFor();
  });

  test("a key is revoked only after its name is typed; the revoked secret is rejected", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { creditNano: 1_000_000, name: "remover" });
    const { page } = await stage().visitAs(tenant);
    await page.goto("/ui/keys");
    await page.getByRole("button", { name: "Actions for first" }).click();
    await page.getByRole("menuitem", { name: "Revoke" }).click();
    const remove = page.getByRole("button", { name: "Revoke key" });
    await expect(remove.isDisabled()).resolves.toBe(true);
    await page.getByLabel(/Type “first” to confirm/).fill("first");
    await remove.click();
    await page.getByText("No API keys yet").waitFor();
    expect(await untilRefused(system.url, tenant.key)).toBe(401);
  });
}

/** An admin's correction takes all but one nano-USD: the next call takes the balance below zero. */
async function emptyBalance(url: string, page: Page): Promise<void> {
  const balance = (await (await page.request.get("/api/balance")).json()) as { balance: number; organizationId: string };
  const answer = await call(url, "POST", `/api/admin/organizations/${balance.organizationId}/credits`, {
    token: await adminToken({ url }),
    body: { amount: 1 - balance.balance },
  });
  expect(answer.status).toBeLessThan(300);
}

/** The invitation's link that the screen shows, without the host. */
async function linkOn(page: Page): Promise<string> {
  const { pathname, search } = new URL((await page.locator("pre").filter({ hasText: "/ui/invite" }).textContent()) ?? "");
  return pathname + search;
}

async function untilRefused(url: string, key: string): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const { status } = await call(url, "GET", "/v1/models", { key });
    if (status !== 200 || attempt === 20) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
