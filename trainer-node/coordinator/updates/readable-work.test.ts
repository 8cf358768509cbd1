import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../common/clock.ts";
import { Federation, Round } from "../../../proto/gen/tributary/training/v1/training.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import { createReleasedClaims, missingHere } from "./readable-work.ts";

let folder = "";
let blobs: BlobFolder;
let here = "";
const elsewhere = "ab".repeat(32);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-readable-"));
  blobs = openBlobFolder({ folder, bytesMax: 1000 });
  here = (await blobs.keepBytes(Buffer.from("parameters"))).sha256;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const federation = (fields: Partial<Federation>) => Federation.fromPartial({ id: "fed_1", settings: '{"rounds":3}', ...fields });
const round = (updateBlob: string) =>
  Round.fromPartial({ round: 3, participants: [{ participantId: "p1", state: "accepted", updateBlob }] });

test("what is in the folder can be worked on, and so can what needs nothing of it", async () => {
  await expect(missingHere({ federation: federation({}), round: undefined }, blobs)).resolves.toBeUndefined();
  await expect(
    missingHere({ federation: federation({ headRound: 2, headBlob: here }), round: round(here) }, blobs),
  ).resolves.toBeUndefined();
  await expect(missingHere({ federation: federation({ headRound: 3, headBlob: elsewhere }) }, blobs)).resolves.toBeUndefined();
});

test("the head, the strategy's state and accepted updates have to be here; what is missing is named by its round", async () => {
  const head = "a coordinator that has the parameters of round 2";
  await expect(missingHere({ federation: federation({ headRound: 2, headBlob: elsewhere }) }, blobs)).resolves.toBe(head);
  const state = federation({ headRound: 2, headBlob: here, headStateBlob: elsewhere });
  await expect(missingHere({ federation: state }, blobs)).resolves.toBe(head);
  const updates = { federation: federation({ headRound: 2, headBlob: here }), round: round(elsewhere) };
  await expect(missingHere(updates, blobs)).resolves.toBe("a coordinator that has the updates of round 3");
});

test("a released claim is left to others for five seconds", () => {
  let nowMs = 0;
  const released = createReleasedClaims({ clock: { ...systemClock, monotonicMs: () => nowMs } });
  expect([released.add("fed_1"), released.ids()]).toEqual([{ isFirst: true }, ["fed_1"]]);
  nowMs = 4_999;
  expect(released.ids()).toEqual(["fed_1"]);
  nowMs = 5_000;
  expect(released.ids()).toEqual([]);
  expect(released.add("fed_1")).toEqual({ isFirst: false });
});
