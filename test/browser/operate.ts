import { adminToken, buy, call, chat, newTenant } from "../helpers/api.ts";
import { ADMIN_EMAIL, ADMIN_PASSWORD } from "../helpers/system.ts";
import { lookAt } from "./look.ts";
import type { Stage, Visitor } from "./stage.ts";

const CREDIT_NANO = 1_000_000_000;

export function operateTests(stage: () => Stage): void {
  const asAdmin = (): Promise<Visitor> => stage().visitAs({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD });

  describe("what an admin does in the console is done", () => {
    test("an organization is found, blocked with a reason that is shown, refused, and unblocked again", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: CREDIT_NANO, name: "suspect" });
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=organizations");
      await page.getByLabel("Search organizations").fill(tenant.organizationId);
      // The list of all organizations has it too, and gives way to the one that was searched for.
      await page.waitForURL((url) => url.search.includes(tenant.organizationId));
      await page.getByRole("button", { name: /^Block suspect/ }).click();
      await page
        .getByRole("dialog")
        .getByLabel(/^Reason/)
        .fill("stolen card");
      await page.getByRole("dialog").getByRole("button", { name: "Block", exact: true }).click();
      await page.getByRole("row", { name: /suspect.*blocked.*stolen card/ }).waitFor();
      expect(await codeWhen(() => chat(system, tenant.key, "let me in"), 403)).toBe("TEAM_BLOCKED");
      await page.getByRole("button", { name: /^Unblock suspect/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Unblock", exact: true }).click();
      await page.getByRole("row", { name: /suspect.*active/ }).waitFor();
      await codeWhen(() => chat(system, tenant.key, "thank you"), 200);
      expect(complaints).toEqual([]);
    });

    test("a model that cannot be reached says so in its test, with code and request id", async () => {
      const { page } = await asAdmin();
      await page.goto("/ui/admin?tab=models&search=unreachable");
      await page.getByRole("button", { name: "Test unreachable" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
      const alert = page.getByRole("dialog").getByRole("alert");
      await alert.getByText(/Code \w+ · request ID req_\w+/).waitFor();
    });

    test("models are picked from the price lists by keyboard and added at their list price or an own one", async () => {
      const { system } = stage();
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=providers");
      await page.getByLabel(/^Name/).fill("picked openai");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Add models of picked openai" });
      await dialog.getByLabel("Filter models").fill("gpt-4o-mini");
      await dialog.getByRole("checkbox", { name: "gpt-4o-mini", exact: true }).press("Space");
      await dialog.getByLabel("Filter models").fill("gpt-4.1-nano");
      await dialog.getByRole("checkbox", { name: "gpt-4.1-nano", exact: true }).press("Space");
      await dialog.getByLabel("Input price of gpt-4.1-nano").fill("7");
      expect(await lookAt(page, "admin-pick-models")).toEqual([]);
      // On a phone the list is longer than the window; what sends it is in view all the same.
      await page.setViewportSize({ width: 390, height: 700 });
      await dialog.getByLabel("Filter models").scrollIntoViewIfNeeded();
      const add = await dialog.getByRole("button", { name: "Add 2 models" }).boundingBox();
      expect(add && add.y + add.height).toBeLessThanOrEqual(700);
      await page.setViewportSize({ width: 1280, height: 900 });
      await dialog.getByLabel("Name of gpt-4.1-nano").press("Enter");
      await page.getByText("2 models of picked openai added.").waitFor();
      const found = await call(system.url, "GET", "/api/admin/models?provider=picked%20openai", { token: await adminToken(system) });
      expect(found.body.data).toMatchObject([
        { name: "gpt-4.1-nano", pricing: { inputUsd: "7.00", outputUsd: "0.40" } },
        { name: "gpt-4o-mini", pricing: { inputUsd: "0.15", outputUsd: "0.60" } },
      ]);
      expect(complaints).toEqual([]);
    });

    test("only what can be changed here has buttons for it, the rest says where it comes from; Disable asks first", async () => {
      const { system } = stage();
      const token = await adminToken(system);
      const body = { name: "switchable", provider: "echo", inferenceModelId: "echo" };
      expect((await call(system.url, "POST", "/api/admin/models", { token, body })).status).toBe(201);
      const { page, complaints } = await asAdmin();
      const rowOf = (name: string) => page.getByRole("row").filter({ hasText: name });

      await page.goto("/ui/admin?tab=models&search=unreachable");
      await rowOf("unreachable").getByText("from the configuration file").waitFor();
      await rowOf("unreachable").getByText("openai, chat, nobody").waitFor();
      await page.goto("/ui/admin?tab=models&search=digits");
      await rowOf("digits").first().getByText("trained here").waitFor();
      await expect(page.getByRole("button", { name: /^(Edit price of|Disable) / }).count()).resolves.toBe(0);
      await page.goto("/ui/admin?tab=providers");
      await rowOf("openai").getByText("from the configuration file").waitFor();
      await expect(page.getByLabel("Delete openai").count()).resolves.toBe(0);

      await page.goto("/ui/admin?tab=models&search=switchable");
      await page.getByRole("button", { name: "Disable switchable" }).click();
      const dialog = page.getByRole("dialog", { name: "Disable model" });
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
      await rowOf("switchable").getByText("active", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Disable switchable" }).click();
      await dialog.getByRole("button", { name: "Disable", exact: true }).click();
      await rowOf("switchable").getByText("disabled", { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });

    test("a provider is renamed, its key replaced and a provider with models tested where it is listed", async () => {
      const { system } = stage();
      const token = await adminToken(system);
      const body = { name: "delta", kind: "openai", apiKey: "sk-old-key-of-delta" };
      expect((await call(system.url, "POST", "/api/admin/providers", { token, body })).status).toBe(201);
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=providers");
      await expect(page.getByLabel("Edit openai", { exact: true }).count()).resolves.toBe(0);
      await page.getByRole("button", { name: "Edit delta" }).click();
      const dialog = page.getByRole("dialog", { name: "Edit delta" });
      await expect(dialog.getByRole("button", { name: "Save" }).isDisabled()).resolves.toBe(true);
      await dialog.getByLabel("Name").fill("estuary");
      await dialog.getByLabel("New API key").fill("sk-new-key-of-estuary");
      const saved = page.waitForRequest((request) => request.method() === "PATCH");
      await dialog.getByRole("button", { name: "Save" }).click();
      expect((await saved).postDataJSON()).toEqual({ name: "estuary", apiKey: "sk-new-key-of-estuary" });
      await page.getByRole("row", { name: /estuary/ }).waitFor();
      await expect(page.getByRole("button", { name: "Test estuary" }).count()).resolves.toBe(0);
      await buy(system, token, CREDIT_NANO);
      await page.getByRole("button", { name: "Test echo", exact: true }).first().click();
      await page.getByRole("dialog", { name: "Test echo" }).getByRole("button", { name: "Send" }).click();
      await page.getByText("measured in this browser").waitFor();
      expect(complaints).toEqual([]);
    });

    test("a user is invited, gets a link for a new password, is disabled and enabled, each after a question", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { name: "forgetful", creditNano: CREDIT_NANO });
      const { page, complaints } = await asAdmin();
      await page.goto(`/ui/admin?tab=users&search=${encodeURIComponent(tenant.email)}`);
      await page.getByRole("button", { name: "Invite user" }).click();
      const invite = page.getByRole("dialog", { name: "Invite user" });
      await invite.getByLabel("Invite by email").fill("newcomer@example.org");
      await invite.getByRole("button", { name: "Invite", exact: true }).click();
      await invite.getByText(/\/ui\/invite\?email=newcomer/).waitFor();
      await page.keyboard.press("Escape");

      await page.getByRole("button", { name: `Reset password of ${tenant.email}` }).click();
      const reset = page.getByRole("dialog", { name: "Reset password" });
      await reset.getByRole("button", { name: "Create link" }).click();
      await reset.getByText(/\/ui\/reset-password\?token=/).waitFor();
      await page.keyboard.press("Escape");
      await expect(page.getByRole("button", { name: `Reset 2FA of ${tenant.email}` }).count()).resolves.toBe(0);

      await page.getByRole("button", { name: `Disable ${tenant.email}` }).click();
      await page.getByRole("dialog", { name: "Disable user" }).getByRole("button", { name: "Disable", exact: true }).click();
      await page.getByRole("row", { name: /forgetful.*disabled/ }).waitFor();
      await codeWhen(() => chat(system, tenant.key, "am I here?"), 401);
      await page.getByRole("button", { name: `Enable ${tenant.email}` }).click();
      await page.getByRole("dialog", { name: "Enable user" }).getByRole("button", { name: "Enable", exact: true }).click();
      await page.getByRole("row", { name: /forgetful.*active/ }).waitFor();
      await codeWhen(() => chat(system, tenant.key, "back again"), 200);
      expect(complaints).toEqual([]);
    });

    test("a guardrail is added where guardrails are listed, tried, ordered, switched off, and deleted by its name", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: CREDIT_NANO, name: "guarded" });
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=guardrails");
      const rowOf = (name: string) => page.getByRole("row").filter({ hasText: name });
      await rowOf("no-secrets").getByText("from gateway.yaml").waitFor();
      await expect(page.getByLabel("Edit no-secrets").count()).resolves.toBe(0);
      for (const name of ["no-rivers", "no-lakes"]) {
        await page.getByRole("button", { name: "Add guardrail" }).click();
        const dialog = page.getByRole("dialog", { name: "Add guardrail" });
        await dialog.getByRole("textbox", { name: "Name" }).fill(name);
        await dialog.getByLabel("words").fill("danube\nlake constance");
        await dialog.getByLabel("Try a text").fill("on the Danube");
        await dialog.getByRole("button", { name: "Try" }).click();
        await dialog.getByText("it matches a word of the list").waitFor();
        await dialog.getByRole("button", { name: "Save" }).click();
        await rowOf(name).waitFor();
      }
      const said = async () => (await chat(system, tenant.key, "danube", { guardrails: ["no-lakes"] })).status;
      expect(await said()).toBe(400);
      await page.getByRole("button", { name: "Move no-lakes up" }).click();
      await page.locator('[aria-label="Move no-lakes up"][disabled]').waitFor();
      await page.locator('[aria-label="no-lakes is on"]:not([disabled])').press("Space");
      await page.getByText("no-lakes is off.").waitFor();
      expect(await said()).toBe(200);
      for (const name of ["no-rivers", "no-lakes"]) {
        await page.getByRole("button", { name: `Delete ${name}` }).click();
        await page
          .getByRole("dialog")
          .getByLabel(/to confirm/)
          .fill(name);
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByRole("button", { name: `Delete ${name}` }).waitFor({ state: "detached" });
      }
      expect(complaints).toEqual([]);
    });

    test("deployments of a model are put in order by dragging and by buttons, and a fallback is added; what the file sets is not open", async () => {
      const { system } = stage();
      const token = await adminToken(system);
      const routed = async () =>
        (await call(system.url, "GET", "/api/admin/routing", { token })).body.data.find(({ name }: { name: string }) => name === "pair");
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=routing&group=pair");
      const dialog = page.getByRole("dialog", { name: "Routing of pair" });
      const handles = dialog.getByRole("list", { name: "Deployments" }).locator("[data-handle]");
      const ids = async () => Promise.all((await handles.all()).map((handle) => handle.getAttribute("data-handle")));
      const save = async () => {
        await dialog.getByRole("button", { name: "Save" }).click();
        await dialog.waitFor({ state: "detached" });
      };
      await page.getByRole("button", { name: "Edit routing of pair" }).click();
      const handle = await dialog.locator('[data-handle="pair-b"]').boundingBox();
      const target = await dialog.locator('[data-handle="pair-a"]').boundingBox();
      if (!handle || !target) throw new Error("the handles are not shown");
      await page.mouse.move(handle.x + 8, handle.y + 8);
      await page.mouse.down();
      await page.mouse.move(target.x + 8, target.y + 4, { steps: 8 });
      await page.mouse.up();
      expect(await ids()).toEqual(["pair-b", "pair-a"]);
      await dialog.getByLabel("Weight of echo echo").first().fill("3");
      await dialog.getByLabel("Add to: Fallbacks if a call fails").click();
      await page.getByRole("option", { name: "assistant-small" }).click();
      await save();
      expect(await routed()).toMatchObject({
        deployments: expect.arrayContaining([
          expect.objectContaining({ id: "pair-b", weight: 3, order: 1 }),
          expect.objectContaining({ id: "pair-a", order: 2 }),
        ]),
        fallbacks: { general: ["assistant-small"] },
      });
      await page.getByRole("button", { name: "Edit routing of pair" }).click();
      await dialog
        .getByRole("button", { name: /^Move .* down$/ })
        .first()
        .press("Enter");
      expect(await ids()).toEqual(["pair-a", "pair-b"]);
      await save();
      expect((await routed()).deployments).toContainEqual(expect.objectContaining({ id: "pair-a", order: 1 }));

      await page.goto("/ui/admin?tab=routing&group=assistant");
      await page.getByRole("button", { name: "Edit routing of assistant", exact: true }).click();
      const fixed = page.getByRole("dialog", { name: "Routing of assistant" });
      await fixed.getByText("The order is set from gateway.yaml.").waitFor();
      await expect(fixed.getByLabel("Add to: Fallbacks if a call fails").isDisabled()).resolves.toBe(true);
      await expect(fixed.locator("[data-handle]").count()).resolves.toBe(0);
      expect(complaints).toEqual([]);
    });

    test("after the cache is cleared, the same request goes to the provider again", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: CREDIT_NANO, name: "caller" });
      const isCached = async () => (await chat(system, tenant.key, "cached?", { caching: true })).headers.has("x-gw-cache-key");
      expect([await isCached(), await isCached()]).toEqual([false, true]);
      const { page } = await asAdmin();
      await page.goto("/ui/admin?tab=cache");
      await page.getByRole("button", { name: "Clear cache" }).click();
      await page.getByText("The cache is cleared on every edge.").waitFor();
      expect(await isCached()).toBe(false);
    });
  });
}

type Answer = Awaited<ReturnType<typeof chat>>;

/** Repeats the call until it has the status, because a block reaches the edges after a moment; returns the error code. */
async function codeWhen(ask: () => Promise<Answer>, status: number): Promise<string | undefined> {
  for (let attempt = 0; ; attempt++) {
    const answer = await ask();
    if (answer.status === status) return answer.body.error?.code;
    if (attempt === 30) throw new Error(`still ${answer.status} after ${attempt} calls: ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
