import type { Page } from "playwright-core";

// What a person does in the console, step by step; for tests and for the demonstration.

export async function signUp(page: Page, account: { email: string; password: string; name: string }): Promise<void> {
  await page.goto("/ui/signup");
  await page.getByLabel("E-mail").fill(account.email);
  await page.getByLabel("Your name").fill(account.name);
  await page.getByLabel("Password", { exact: false }).first().fill(account.password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.waitForURL("**/ui/start");
}

/** Gives the secret, as the person would copy it; `look` is called while it is shown. */
export async function makeFirstKey(page: Page, look?: () => Promise<void>): Promise<string> {
  await page.getByRole("button", { name: "Make a key" }).click();
  const secret = await page.getByTestId("secret").locator("pre").textContent();
  await look?.();
  await page.getByLabel("I stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await stepDone(page, 1);
  return secret?.trim() ?? "";
}

export function stepDone(page: Page, number: number): Promise<void> {
  return page.locator(`[data-step="${number}"][data-done="true"]`).waitFor();
}
