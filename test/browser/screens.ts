import type { Page } from "playwright-core";
import { ADMIN_EMAIL, ADMIN_PASSWORD } from "../helpers/system.ts";
import { type Furnished, furnish } from "./furnish.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

interface ScreenCase {
  readonly name: string;
  readonly path: string | ((made: Furnished) => string);
  /** Waits until the screen shows data instead of skeletons. */
  readonly ready: (page: Page) => Promise<unknown>;
  readonly who?: "guest" | "admin";
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { level: 1, name }).waitFor();
const text = (content: string | RegExp) => (page: Page) => page.getByText(content).first().waitFor();

/** Every screen with data in it. A new screen is one line here. */
const SCREENS: readonly ScreenCase[] = [
  { name: "login", path: "/ui/login", ready: heading("Log in"), who: "guest" },
  { name: "signup", path: "/ui/signup", ready: heading("Create an account"), who: "guest" },
  { name: "invitation", path: "/ui/invite?email=grace%40example.org&token=t", ready: heading("Join your team"), who: "guest" },
  { name: "invited-sign-up", path: "/ui/signup?email=grace%40example.org&token=t", ready: heading("Join your team"), who: "guest" },
  { name: "invitation-of-another", path: "/ui/invite?token=inv_none.t", ready: text("is not for this account") },
  { name: "forgot-password", path: "/ui/forgot-password", ready: heading("Forgot password"), who: "guest" },
  { name: "reset-password", path: "/ui/reset-password?token=t", ready: heading("Reset password"), who: "guest" },
  { name: "model-hub", path: "/ui/model_hub_table", ready: (page) => page.getByRole("button", { name: "echo" }).waitFor(), who: "guest" },
  { name: "model", path: "/ui/model_hub_table?model=echo", ready: (page) => page.getByRole("dialog").waitFor(), who: "guest" },
  { name: "start", path: "/ui/start", ready: text("The balance is") },
  {
    name: "overview",
    path: "/ui/",
    ready: async (page) => {
      await page.locator(".chart-picture").nth(2).waitFor();
      // The lists are loaded when they are scrolled into view.
      await page.mouse.wheel(0, 2_000);
      await page.getByRole("heading", { name: "Top models" }).waitFor();
    },
  },
  { name: "keys", path: "/ui/keys", ready: (page) => page.getByRole("table").getByText("first", { exact: true }).waitFor() },
  { name: "key-form", path: "/ui/keys?new=key", ready: (page) => page.getByRole("dialog").getByLabel("Budget (USD)").waitFor() },
  { name: "playground", path: "/ui/playground?models=echo", ready: (page) => page.getByLabel("Your message").waitFor() },
  { name: "usage", path: "/ui/usage?compare=on", ready: (page) => page.locator(".chart-picture").first().waitFor() },
  {
    name: "logs",
    path: "/ui/logs",
    ready: (page) =>
      page
        .getByRole("button", { name: /open this call/ })
        .first()
        .waitFor(),
  },
  { name: "session", path: "/ui/session?session=trip%20to%20the%20sea", ready: text("1 without success") },
  { name: "teams", path: "/ui/teams", ready: (page) => page.getByRole("link", { name: "Default" }).waitFor() },
  { name: "organization", path: "/ui/organization", ready: text("No webhooks yet") },
  {
    name: "audit",
    path: "/ui/audit",
    ready: (page) => page.getByRole("table", { name: "Audit log" }).getByText("key.create").first().waitFor(),
  },
  {
    name: "credits",
    path: "/ui/credits",
    ready: (page) =>
      page
        .getByRole("button", { name: /^Receipt of/ })
        .first()
        .waitFor(),
  },
  { name: "ledger", path: "/ui/credits?tab=ledger", ready: text("#") },
  { name: "log", path: ({ logId }) => `/ui/logs?call=${logId}`, ready: text("Receipt signed with Ed25519") },
  { name: "training", path: "/ui/training", ready: text("4 of 4 rounds") },
  {
    name: "training-new",
    path: "/ui/training",
    ready: async (page) => {
      await page.getByRole("button", { name: "Create federation" }).first().click();
      await page.getByRole("combobox", { name: "Differential privacy" }).click();
      await page.getByRole("option", { name: /^Local/ }).click();
      await page.getByText("5 rounds will cost epsilon 12.30 at delta 0.00001.").waitFor();
    },
  },
  {
    name: "training-compare",
    path: ({ federationId }) => `/ui/training?tab=compare&ids=${federationId}&metric=loss`,
    ready: (page) => page.getByRole("img", { name: "loss by round of 1 federation" }).waitFor(),
  },
  { name: "training-nodes", path: "/ui/training?tab=nodes", ready: (page) => page.getByRole("button", { name: /^Check 127/ }).waitFor() },
  {
    name: "federation",
    path: ({ federationId }) => `/ui/training/${federationId}?model=our-digits`,
    ready: async (page) => {
      await page.getByRole("img", { name: /^accuracy by round/ }).waitFor();
      await page.getByRole("button", { name: "Serve v1" }).waitFor();
    },
  },
  { name: "trained-model", path: "/ui/model_hub_table?model=our-digits", ready: (page) => page.locator(".chart-picture").waitFor() },
  { name: "admin-users", path: "/ui/admin", ready: text("admin@localhost"), who: "admin" },
  {
    name: "admin-organizations",
    path: "/ui/admin?tab=organizations",
    ready: (page) =>
      page
        .getByRole("button", { name: /^Grant credits to/ })
        .first()
        .waitFor(),
    who: "admin",
  },
  { name: "admin-models", path: "/ui/admin?tab=models", ready: (page) => page.getByLabel("Edit price of echo").waitFor(), who: "admin" },
  {
    name: "admin-providers",
    path: "/ui/admin?tab=providers",
    ready: (page) => page.getByLabel("Delete echo").first().waitFor(),
    who: "admin",
  },
  {
    name: "admin-model-test",
    path: "/ui/admin?tab=models&search=echo",
    ready: async (page) => {
      await page.getByRole("button", { name: "Test echo", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
      await page.getByText("measured in this browser").waitFor();
    },
    who: "admin",
  },
  {
    name: "admin-routing",
    path: "/ui/admin?tab=routing",
    ready: (page) => page.getByRole("img", { name: /^Routes of/ }).waitFor(),
    who: "admin",
  },
  {
    name: "admin-route-form",
    path: "/ui/admin?tab=routing&group=pair",
    ready: async (page) => {
      await page.getByRole("button", { name: "Edit routing of pair" }).click();
      await page.getByRole("dialog").getByLabel("Strategy").waitFor();
    },
    who: "admin",
  },
  {
    name: "admin-guardrail-form",
    path: "/ui/admin?tab=guardrails",
    ready: async (page) => {
      await page.getByRole("button", { name: "Add guardrail" }).click();
      await page.getByRole("dialog").getByLabel("Try a text").waitFor();
    },
    who: "admin",
  },
  { name: "admin-guardrails", path: "/ui/admin?tab=guardrails", ready: text("Recent decisions"), who: "admin" },
  {
    name: "admin-cache",
    path: "/ui/admin?tab=cache",
    ready: (page) => page.getByText("%", { exact: false }).first().waitFor(),
    who: "admin",
  },
  {
    name: "admin-audit",
    path: "/ui/admin?tab=audit",
    ready: (page) => page.getByRole("table", { name: "Audit log" }).waitFor(),
    who: "admin",
  },
  { name: "admin-system", path: "/ui/admin?tab=system", ready: text("all settled"), who: "admin" },
  {
    name: "verify-email",
    path: "/ui/verify-email?token=t",
    ready: (page) => page.getByRole("button", { name: "Verify my email" }).waitFor(),
  },
  { name: "account", path: "/ui/account", ready: text("Member since") },
];

export function screenTests(stage: () => Stage): void {
  describe("every screen, in both themes and two widths, has nothing serious for axe and fits the window", () => {
    let visitors: Record<"guest" | "customer" | "admin", Awaited<ReturnType<Stage["visit"]>>>;
    let made: Furnished;

    beforeAll(async () => {
      const { system } = stage();
      made = await furnish(system);
      const { tenant } = made;
      visitors = {
        guest: await stage().visit(),
        customer: await stage().visitAs(tenant),
        admin: await stage().visitAs({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD }),
      };
    });

    test.each(SCREENS)("$name", async ({ name, path, ready, who }) => {
      const { page, complaints } = visitors[who ?? "customer"];
      await page.goto(typeof path === "string" ? path : path(made));
      await ready(page);
      expect(await lookAt(page, name)).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
    });

    test.each(["members", "keys", "limits", "usage"])("team: %s", async (tab) => {
      const { page, complaints } = visitors.customer;
      await page.goto(`/ui/teams/${made.tenant.teamId}?tab=${tab}`);
      await page.getByRole("tab", { selected: true }).waitFor();
      await page.waitForLoadState("networkidle");
      expect(await lookAt(page, `team-${tab}`)).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
    });

    test("every menu entry leads to a screen", async () => {
      const { page, complaints } = visitors.admin;
      await page.goto("/ui/");
      const menu = page.getByRole("navigation", { name: "Main" });
      await menu.getByRole("link").first().waitFor();
      const labels = await menu.getByRole("link").allTextContents();
      expect(labels.length).toBeGreaterThanOrEqual(7);
      for (const label of labels) {
        await menu.getByRole("link", { name: label, exact: true }).click();
        await page.getByRole("heading", { level: 1, name: label, exact: true }).waitFor();
      }
      expect(complaints.splice(0)).toEqual([]);
    });

    test("the command palette opens by keyboard and leads where its entry says", async () => {
      const { page } = visitors.customer;
      await page.goto("/ui/account");
      await page.getByText("Member since").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder(/Search screens/).fill("credits");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
    });
  });
}
