import { newTenant } from "../helpers/api.ts";
import type { Issuer } from "../helpers/oidc.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

export function signInTests(stage: () => Stage, issuer: () => Issuer): void {
  test("a person signs in with OpenID Connect, reloads, and signs out", async () => {
    await issuer().putAccount("grace", { email: "grace.oidc@example.org", email_verified: true, name: "Grace" });
    const { page, context, complaints } = await stage().visit();
    await page.goto("/ui/teams");
    await page.getByRole("link", { name: "Continue with Example SSO" }).click();
    await page.getByLabel("Account").fill("grace");
    await page.getByRole("button", { name: "Sign in" }).click();
    // The screen that was asked for before the sign-in.
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
    const cookies = await context.cookies(stage().system.url);
    const ours = cookies.filter(({ name }) => name.includes("tributary"));
    expect(new Set(ours.map(({ name, httpOnly, sameSite }) => `${name} ${httpOnly} ${sameSite}`))).toEqual(
      new Set(["__Host-tributary true Strict", "tributary-session true Strict"]),
    );
    await page.reload();
    await page.getByRole("button", { name: /account of Grace/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    expect((await context.request.get("/api/auth/me")).status()).toBe(401);
    expect(complaints).toEqual([]);
  });

  test("a sign-in that is canceled at the issuer shows why on the login page, and a link cannot show another text", async () => {
    const { page, complaints } = await stage().visit();
    await page.goto("/ui/signup");
    await page.getByRole("link", { name: "Continue with Example SSO" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("alert").getByText("The sign-in was canceled").waitFor();
    expect(await lookAt(page, "login-refused")).toEqual([]);
    await page.goto("/ui/login?refused=Call+us+at+555");
    await page.getByRole("link", { name: "Continue with Example SSO" }).waitFor();
    expect(await page.getByText("555").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("until the email is verified every screen says so, and the page of the link verifies it", async () => {
    const { page, complaints } = await stage().visitAs(await newTenant(stage().system, { name: "unverified" }));
    // This system sends no mail: the answers are those of one that does.
    let isVerified = false;
    await page.route("**/api/auth/me", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), canVerifyEmail: !isVerified } });
    });
    await page.route("**/api/auth/verify-email", (route) => {
      isVerified = true;
      return route.fulfill({ json: {} });
    });
    await page.route("**/api/auth/verify-email/resend", (route) => route.fulfill({ status: 202, json: { accepted: true } }));
    await page.goto("/ui/verify-email?token=t");
    const banner = page.getByTestId("verify-banner");
    await banner.getByRole("button", { name: "Send again" }).click();
    await banner.getByText("We sent a new one.").waitFor();
    await page.getByRole("button", { name: "Verify my email" }).click();
    await page.getByText("Your email is verified.").waitFor();
    await banner.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });
}
