import type { Page } from "playwright-core";

// Steps of a user in the console, for tests and for the demo.

/** What a person does between two steps: reads, and moves the pointer. */
type Pause = () => Promise<void>;
const noPause: Pause = async () => undefined;

export async function signUp(page: Page, account: { email: string; password: string; name: string }, pause = noPause): Promise<void> {
  await page.goto("/ui/signup");
  await fillSignUp(page, account, pause);
}

/** Fills the form of the sign-up, which is open, and sends it. */
export async function fillSignUp(page: Page, account: { email: string; password: string; name: string }, pause = noPause): Promise<void> {
  const fields = [
    { field: page.getByLabel("Email"), text: account.email },
    { field: page.getByLabel("Your name"), text: account.name },
    { field: page.getByLabel("Password", { exact: false }).first(), text: account.password },
  ];
  for (const { field, text } of fields) {
    await field.fill(text);
    await pause();
  }
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.waitForURL("**/ui/start");
}

/** Creates the first key and returns its secret; `look` runs while the secret is shown. */
export async function makeFirstKey(page: Page, { look = noPause, pause = noPause } = {}): Promise<string> {
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = await page.getByTestId("secret").locator("pre").textContent();
  await look();
  await pause();
  await page.getByLabel("I have saved").check();
  await pause();
  await page.getByRole("button", { name: "Done" }).click();
  await stepDone(page, 1);
  return secret?.trim() ?? "";
}

export function stepDone(page: Page, number: number): Promise<void> {
  return page.locator(`[data-step="${number}"][data-done="true"]`).waitFor();
}
