import { chat, newTenant } from "../helpers/api.ts";
import { ADMIN_EMAIL, ADMIN_PASSWORD } from "../helpers/system.ts";
import type { Stage, Visitor } from "./stage.ts";

const CREDIT_NANO = 1_000_000_000;

export function operateTests(stage: () => Stage): void {
  const asAdmin = (): Promise<Visitor> => stage().visitAs({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD });

  describe("what an admin does in the console is done", () => {
    test("an organisation is found, blocked with a reason that is shown, refused, and unblocked again", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: CREDIT_NANO, name: "suspect" });
      const { page, complaints } = await asAdmin();
      await page.goto("/ui/admin?tab=organizations");
      await page.getByLabel("Search organisations").fill(tenant.organizationId);
      await page.getByRole("button", { name: /^Block suspect/ }).click();
      await page
        .getByLabel(/^Reason/)
        .last()
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
      await alert.getByText(/Code \w+ · request req_\w+/).waitFor();
    });

    test("a cleared cache forgets: the same question is asked anew", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: CREDIT_NANO, name: "asker" });
      const isKept = async () => (await chat(system, tenant.key, "kept?", { caching: true })).headers.has("x-gw-cache-key");
      expect([await isKept(), await isKept()]).toEqual([false, true]);
      const { page } = await asAdmin();
      await page.goto("/ui/admin?tab=cache");
      await page.getByRole("button", { name: "Clear the cache" }).click();
      await page.getByText("Every edge forgets the answers it kept.").waitFor();
      expect(await isKept()).toBe(false);
    });
  });
}

type Answer = Awaited<ReturnType<typeof chat>>;

/** Edges hear of a block within a moment; the code of the first answer that has the status. */
async function codeWhen(ask: () => Promise<Answer>, status: number): Promise<string | undefined> {
  for (let attempt = 0; ; attempt++) {
    const answer = await ask();
    if (answer.status === status) return answer.body.error?.code;
    if (attempt === 30) throw new Error(`still ${answer.status} after ${attempt} calls: ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
