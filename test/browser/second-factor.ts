import type { Page } from "playwright-core";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { authenticator } from "../helpers/authenticator.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

export function secondFactorTests(stage: () => Stage): void {
  test("a user sets up two-factor authentication, logs in with a code and with a recovery code, turns it off and logs out", async () => {
    const tenant = await newTenant(stage().system, { name: "careful" });
    const { page, complaints } = await stage().visit();
    await logIn(page, tenant);
    const { secret, codes } = await setUp(page, tenant);
    const app = authenticator(secret);
    await page.getByRole("textbox", { name: "Code" }).fill("000000");
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("alert").getByText("The two-factor code is wrong").waitFor();
    await page.getByRole("textbox", { name: "Code" }).fill(await app.next());
    await page.getByRole("button", { name: "Turn on" }).click();
    const recovery = await codes();
    await page.getByText("10 recovery codes left").waitFor();
    expect(await lookAt(page, "account-two-factor")).toEqual([]);
    // The session of the sign-up has ended.
    expect((await call(stage().system.url, "GET", "/api/auth/me", { token: tenant.token })).status).toBe(401);

    await logOut(page);
    await logIn(page, tenant, "Two-factor authentication");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await lookAt(page, "login-code")).toEqual([]);
    await page.getByRole("textbox", { name: "Code" }).fill("000000");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").getByText("The two-factor code is wrong").waitFor();
    await page.getByRole("textbox", { name: "Code" }).fill(await app.next());
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

    await logOut(page);
    await logIn(page, tenant, "Two-factor authentication");
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await page.getByRole("textbox", { name: "Recovery code" }).fill(recovery[0] ?? "");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.goto("/ui/account");
    await page.getByText("9 recovery codes left").waitFor();
    await page.getByRole("button", { name: "Turn off" }).click();
    await page
      .getByRole("dialog")
      .getByRole("textbox", { name: "Code" })
      .fill(await app.next());
    await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Set up" }).waitFor();
    await logOut(page);
    await logIn(page, tenant);
    expect(complaints).toEqual([]);
  });

  test("sessions are listed with their devices; one is ended, then all others, and their tokens with them", async () => {
    const { system } = stage();
    const tenant = await newTenant(system, { name: "traveler" });
    const elsewhere = async (userAgent: string) => {
      const { email, password } = tenant;
      const answer = await call(system.url, "POST", "/api/auth/token", { body: { email, password }, headers: { "user-agent": userAgent } });
      return answer.body.token as string;
    };
    const phone = await elsewhere("Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) Version/26.1 Mobile Safari/604.1");
    const script = await elsewhere("curl/8.14.1");
    const { page, complaints } = await stage().visitAs(tenant);
    await page.goto("/ui/account");
    const rows = page.getByRole("table", { name: "Sessions" }).locator("tbody tr");
    await rows.filter({ hasText: "curl/8.14.1" }).waitFor();
    expect([await rows.count(), await rows.filter({ hasText: "current" }).count()]).toEqual([4, 1]);
    expect(await lookAt(page, "account-sessions")).toEqual([]);
    await page.getByRole("button", { name: /^End the session of Safari on iPhone/ }).click();
    await rows.filter({ hasText: "iPhone" }).waitFor({ state: "detached" });
    const statusOf = async (token: string) => (await call(system.url, "GET", "/api/auth/me", { token })).status;
    expect([await statusOf(phone), await statusOf(script)]).toEqual([401, 200]);
    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByText("2 sessions ended.").waitFor();
    await rows.filter({ hasText: "curl" }).waitFor({ state: "detached" });
    expect([await rows.count(), await statusOf(script), await statusOf(tenant.token)]).toEqual([1, 401, 401]);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    expect(complaints).toEqual([]);
  });
}

/** Fills in the log-in page, and waits for the screen after it. */
async function logIn(page: Page, { email, password }: Tenant, heading = "Overview"): Promise<void> {
  await page.goto("/ui/login");
  await page.getByLabel("Email").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

async function logOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: /account of/ }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
}

/** Opens the set-up and reads the secret from the page; `codes` reads the recovery codes once they are shown, and their file. */
async function setUp(page: Page, { password }: Tenant): Promise<{ secret: string; codes: () => Promise<string[]> }> {
  await page.goto("/ui/account");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
  expect(await lookAt(page, "two-factor-set-up")).toEqual([]);
  const secret = (await page.getByTestId("totp-secret").locator("pre").textContent()) ?? "";
  return {
    secret: secret.trim(),
    codes: async () => {
      const shown = page.getByTestId("secret").locator("pre");
      await shown.waitFor();
      expect(await lookAt(page, "recovery-codes")).toEqual([]);
      const codes = ((await shown.textContent()) ?? "").trim().split("\n");
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
      expect([codes.length, download.suggestedFilename()]).toEqual([10, "tributary-recovery-codes.txt"]);
      await page.getByLabel("I have saved").check();
      await page.getByRole("button", { name: "Done" }).click();
      return codes;
    },
  };
}
