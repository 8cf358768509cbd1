import { call, chat, newTenant } from "../helpers/api.ts";
import { ADMIN_EMAIL, ADMIN_PASSWORD } from "../helpers/system.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

export function teamTests(stage: () => Stage): void {
  describe("teams and organizations are changed where they are shown", () => {
    test("a key moves to another team, then its old team is deleted with the other keys; the last team has no such button", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "mover" });
      const ask = (method: string, path: string, body?: object) =>
        call(system.url, method, path, { token: tenant.token, ...(body && { body }) });
      const { team } = (await ask("POST", "/api/gw/teams", { name: "Delta" })).body;
      const lost = (await ask("POST", "/api/gw/api-keys", { name: "lost", team_id: tenant.teamId })).body.key;
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/keys");
      await page.getByRole("button", { name: "Actions for first" }).click();
      await page.getByRole("menuitem", { name: "Move to another team" }).click();
      const moving = page.getByRole("dialog", { name: "Move first to another team" });
      await moving.getByRole("combobox", { name: "New team" }).click();
      await page.getByRole("option", { name: "Delta" }).click();
      expect(await lookAt(page, "key-transfer")).toEqual([]);
      await moving.getByRole("button", { name: "Move key" }).click();
      await page.getByRole("row", { name: /first.*Delta/ }).waitFor();

      await page.goto(`/ui/teams/${tenant.teamId}`);
      await page.getByRole("button", { name: "Delete team" }).click();
      const dialog = page.getByRole("dialog", { name: "Delete Default" });
      await dialog.getByLabel(/to confirm/).fill("Default");
      expect(await lookAt(page, "team-delete")).toEqual([]);
      await dialog.getByRole("button", { name: "Delete team" }).click();
      await page.waitForURL("**/ui/teams");
      await page.getByRole("link", { name: "Delta" }).waitFor();
      await expect(page.getByRole("link", { name: "Default" }).count()).resolves.toBe(0);
      expect([(await chat(system, tenant.key, "moved")).status, (await chat(system, lost, "lost")).status]).toEqual([200, 401]);
      await page.goto(`/ui/teams/${team.id}`);
      await page.getByRole("heading", { level: 1, name: "Delta" }).waitFor();
      await expect(page.getByRole("button", { name: "Delete team" }).count()).resolves.toBe(0);
      expect(complaints).toEqual([]);
    });

    test("an admin renames an organization and limits it where it is listed", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { name: "oldname" });
      const { page, complaints } = await stage().visitAs({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD });
      await page.goto(`/ui/admin?tab=organizations&search=${tenant.organizationId}`);
      await page.getByRole("button", { name: /^Edit oldname/ }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("New name");
      await dialog.getByLabel("Requests per minute (RPM)").fill("60");
      expect(await lookAt(page, "admin-organization-edit")).toEqual([]);
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: /New name/ }).waitFor();
      const { organization } = (await call(system.url, "GET", "/api/auth/me", { token: tenant.token })).body;
      expect(organization).toMatchObject({ name: "New name", rpm: 60 });
      expect(complaints).toEqual([]);
    });
  });
}
