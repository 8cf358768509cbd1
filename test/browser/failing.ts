import { newTenant } from "../helpers/api.ts";
import type { Stage } from "./stage.ts";

export function failingTests(stage: () => Stage): void {
  test("an expired session leads to the login, and from there back to the same screen", async () => {
    const tenant = await newTenant(stage().system, { name: "expired" });
    const { page, context } = await stage().visitAs(tenant);
    await page.goto("/ui/teams");
    await page.getByRole("link", { name: "Default" }).waitFor();
    await context.clearCookies();
    await page.getByRole("link", { name: "Credits", exact: true }).click();
    await page.getByText("Your session has expired").waitFor();
    await page.getByLabel("Email").fill(tenant.email);
    await page.getByRole("textbox", { name: "Password" }).fill(tenant.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
  });

  test("a wrong password shows an error with code and request ID, and the form stays as it was", async () => {
    const tenant = await newTenant(stage().system, { name: "mistyped" });
    const { page } = await stage().visit();
    await page.goto("/ui/login");
    await page.getByLabel("Email").fill(tenant.email);
    await page.getByRole("textbox", { name: "Password" }).fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("UNAUTHORIZED").waitFor();
    expect(await alert.textContent()).toMatch(/request ID req_/);
    expect(await page.getByRole("textbox", { name: "Email" }).inputValue()).toBe(tenant.email);
  });

  test("a failing server shows its error with code and request id, and trying again works once it is back", async () => {
    const tenant = await newTenant(stage().system, { name: "unlucky" });
    const { page } = await stage().visitAs(tenant);
    await page.route("**/api/gw/teams?*", (route) =>
      route.fulfill({ status: 500, json: { error: "The disk is full.", code: "SERVER_ERROR", requestId: "req_broken" } }),
    );
    await page.goto("/ui/teams");
    const alert = page.getByRole("alert");
    await alert.getByText("The disk is full.").waitFor();
    expect(await alert.textContent()).toContain("req_broken");
    await page.unroute("**/api/gw/teams?*");
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "Default" }).waitFor();
  });

  test("a slow server shows skeletons, then the data; a server that is gone says so", async () => {
    const tenant = await newTenant(stage().system, { name: "patient" });
    const { page } = await stage().visitAs(tenant);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/api-keys?*", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto("/ui/keys");
    await page.locator("table[aria-busy='true']").waitFor();
    release();
    await page.getByRole("table").getByText("first", { exact: true }).waitFor();
    await page.unroute("**/api/api-keys?*");
    await page.route("**/api/credits/**", (route) => route.abort());
    await page.goto("/ui/credits");
    await page.getByText("The server cannot be reached").first().waitFor();
  });

  test("without scripts a person logs in, sees the balance and logs out", async () => {
    const tenant = await newTenant(stage().system, { creditNano: 2_500_000_000, name: "scriptless" });
    const { page } = await stage().visit({ scripts: false });
    await page.goto("/ui/");
    await page.getByRole("link", { name: "log in on a plain page" }).click();
    await page.getByLabel("E-mail").fill(tenant.email);
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Password").fill(tenant.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("2.50 USD, active.").waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
  });
}
