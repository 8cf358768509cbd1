import { mkdtempSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { newTenant } from "../helpers/api.ts";
import { startPythonParticipant } from "../helpers/federations.ts";
import type { System } from "../helpers/system.ts";
import type { Stage } from "./stage.ts";

const PROGRAM = resolve(import.meta.dirname, "../helpers/python-joined.py");

export function liveLaneTests(stage: () => Stage): void {
  describe("a federation is created in the console", () => {
    test("its dialog warns of unlimited samples, and each participant has a lane that moves until its update is accepted", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { name: "watcher" });
      const participants = [await startHalfDone(system), await startHalfDone(system)];
      const { page, complaints } = await stage().visitAs(tenant);
      try {
        await page.goto("/ui/training");
        await page.getByRole("button", { name: "Create federation" }).first().click();
        const dialog = page.getByRole("dialog", { name: "Create federation" });
        await dialog.getByRole("textbox", { name: "Name" }).fill("two lanes");
        await dialog.getByLabel("Rounds").fill("1");
        await dialog.getByLabel("Dataset (JSON)").fill("");
        await dialog.getByLabel("Other trainer nodes").fill(participants.map(({ url }) => url).join("\n"));
        await dialog.getByRole("button", { name: "Create", exact: true }).click();
        await page.getByRole("heading", { level: 1, name: "two lanes" }).waitFor();
        const warning = page.getByRole("alert").filter({ hasText: "maxSamples is not set" });
        await warning.getByRole("button", { name: "Close" }).click();

        const lanes = page.getByRole("list", { name: "Participants at work" }).getByRole("listitem");
        const [first, second] = [lanes.filter({ hasText: "Participant 1" }), lanes.filter({ hasText: "Participant 2" })];
        for (const lane of [first, second]) await lane.getByText("50%").waitFor();
        await expect(first.getByRole("progressbar", { name: "Training of Participant 1" }).getAttribute("aria-valuenow")).resolves.toBe(
          "50",
        );
        participants[0]?.finish();
        await first.getByText("accepted").waitFor();
        await expect(second.getByText("50%").count()).resolves.toBe(1);
        participants[1]?.finish();
        await page.getByText("1 of 1", { exact: true }).first().waitFor();
        await lanes.first().waitFor({ state: "detached" });
        expect(complaints).toEqual([]);
      } finally {
        await Promise.all(participants.map(({ stop }) => stop()));
      }
    });
  });
}

/** A participant that reports half of its training and ends it when it is told to. */
async function startHalfDone(system: System): Promise<{ url: string; finish(): void; stop(): Promise<void> }> {
  const marks = mkdtempSync(join(system.folder, "lane-"));
  const { url, stop } = await startPythonParticipant({ program: [PROGRAM], env: { MARKS: marks } });
  return { url, finish: () => writeFileSync(join(marks, "finish"), ""), stop };
}
