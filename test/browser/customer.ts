import type { Page } from "playwright-core";

// Steps of a user in the console, for tests and for the demo.

export async function signUp(page: Page, account: { email: string; password: string; name: string }): Promise<void> {
  await page.goto("/ui/signup");
  await page.getByLabel("Email").fill(account.email);
  await page.getByLabel("Your name").fill(account.name);
  await page.getByLabel("Password", { exact: false }).first().fill(account.password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.waitForURL("**/ui/start");
}

/** Creates the first key and returns its secret; `look` runs while the secret is shown. */
export async function makeFirstKey(page: Page, look?: () => Promise<void>): Promise<string> {
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = await page.getByTestId("secret").locator("pre").textContent();
  await look?.();
  await page.getByLabel("I have saved").check();
  await page.getByRole("button", { name: "Done" }).click();
  await stepDone(page, 1);
  return secret?.trim() ?? "";
}

export function stepDone(page: Page, number: number): Promise<void> {
  return page.locator(`[data-step="${number}"][data-done="true"]`).waitFor();
}
