import type { Page } from "playwright-core";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen } from "../helpers/federations.ts";
import type { System } from "../helpers/system.ts";
import type { Stage } from "./stage.ts";

/** A row of the digits data as JSON: 64 pixels. */
const ROW = JSON.stringify(Array.from({ length: 64 }, (_, pixel) => (pixel % 8) / 8));

export function trainedTests(stage: () => Stage): void {
  describe("a model that was trained here is used in the console", () => {
    test("it is tried from the hub: the playground has it chosen, says what to send, and answers a row with its label", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "trainer" });
      const id = await trained(system, tenant, "river digits");
      const published = await call(system.url, "POST", `/training/federations/${id}/publish`, {
        token: tenant.token,
        body: { model: "river-classifier" },
      });
      expect(published.status).toBe(201);
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/model_hub_table?model=river-classifier");
      await page.getByRole("dialog").getByRole("link", { name: "Try in playground" }).click();
      await page.getByText("Send one row as JSON").waitFor();
      await sendRow(page, "river-classifier");

      await page.goto("/ui/playground?model=river-classifier");
      await page.getByText("Send one row as JSON").waitFor();
      await page.getByRole("region", { name: "river-classifier" }).waitFor();
      await page.goto("/ui/playground?model=no-such-model");
      await page.getByText("no-such-model is not in the list of models").waitFor();
      expect(complaints).toEqual([]);
    });

    test("two federations are compared on one chart, and the curves of one are those of the chosen participants", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { name: "comparer" });
      const ids = [await trained(system, tenant, "upper river"), await trained(system, tenant, "lower river")];
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto(`/ui/training/${ids[0]}?metric=train.loss`);
      const curves = page.getByRole("list", { name: "Curves" });
      await curves.getByText(/^All participants \d\.\d+$/).waitFor();
      await curves.getByText(/^Participant 1 \d\.\d+$/).waitFor();
      await page.getByRole("combobox", { name: "Participants" }).press("Backspace");
      await page.getByRole("img", { name: "train.loss by round, 1 curve" }).waitFor();
      await page.goto("/ui/training?tab=compare");
      await page.getByRole("combobox", { name: "Federations" }).click();
      for (const name of ["upper river", "lower river"]) await page.getByRole("option", { name }).click();
      await page.getByRole("img", { name: "accuracy by round of 2 federations" }).waitFor();
      for (const name of ["upper", "lower"]) await curves.getByText(new RegExp(`^${name} river \\d+\\.\\d%$`)).waitFor();
      expect(complaints).toEqual([]);
    });

    test("Publish has a valid name filled in, says that a model without a price is free, and sets the price that is typed", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "publisher" });
      const id = await trained(system, tenant, "harbor digits (first try)");
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto(`/ui/training/${id}`);
      await expect(page.getByLabel("Model name").inputValue()).resolves.toBe("harbor-digits-first-try");
      await page.getByText("Without a price, the model is free").waitFor();
      await page.getByLabel("Input, USD per 1M tokens").fill("2.5");
      await page.getByText("Price: $2.50 in and $0.00 out per 1M tokens.").waitFor();
      await page.getByRole("button", { name: "Publish", exact: true }).click();
      await page.getByText("version 1 is published, $2.50 in").waitFor();
      const { body } = await call(system.url, "GET", "/training/models", { token: tenant.token });
      expect(body.data).toMatchObject([{ name: "harbor-digits-first-try", pricing: { unit: "token", input: 2_500_000_000, output: 0 } }]);
      const form = page.getByRole("form", { name: "Try the model" });
      await form.getByRole("img", { name: "The digit of the row" }).click({ position: { x: 60, y: 60 } });
      await expect(form.getByLabel("Row of features").inputValue()).resolves.toContain("0.5,1,0.5");
      await form.getByRole("button", { name: "Predict" }).click();
      await form.getByText(/^Answer: \d$/).waitFor();
      await page.getByRole("link", { name: "Try in playground" }).click();
      await sendRow(page, "harbor-digits-first-try");
      expect(complaints).toEqual([]);
    });
  });
}

async function sendRow(page: Page, model: string): Promise<void> {
  await page.getByLabel("Your message").fill(ROW);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: model }).locator('[data-role="assistant"]').getByText(/^\d$/).waitFor();
}

/** One round of a softmax over the built-in digits; gives the federation's id. */
async function trained(system: System, { token }: Tenant, name: string): Promise<string> {
  const task = { name: "softmax", config: { epochs: 1, batch_size: 20, lr: 0.05 }, dataset: "digits" };
  const body = { name, task, rounds: 1, participants: [{ url: system.trainerUrl }] };
  const made = await call(system.url, "POST", "/training/federations", { token, body });
  expect(made.status).toBe(201);
  await federationWhen(system, { token, id: made.body.federation.id });
  return made.body.federation.id;
}
