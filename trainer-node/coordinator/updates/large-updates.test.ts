import { hash } from "node:crypto";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { model, openRunFixture, type Script } from "../run-fixture.ts";
import { inspectBlob } from "./inspect-blob.ts";
import { OPAQUE } from "./inspect-update.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

/** More than Node reads at once. */
const BYTES = 2_200_000_000;

/** Stores a blob that begins with these bytes. The rest are zeros, which take no room on the disk. */
function large(head: string): { sha256: string; bytes: number } {
  const sha256 = hash("sha256", head, "hex");
  const path = join(fixture.blobs.folder, sha256);
  writeFileSync(path, head, "latin1");
  truncateSync(path, BYTES);
  return { sha256, bytes: BYTES };
}

/** A safetensors file of one tensor, which has so many numbers less than the file. */
function safetensors(missing: number): string {
  const headerBytes = 120;
  const numbers = (BYTES - 8 - headerBytes) / 8 - missing;
  const header = JSON.stringify({ w: { dtype: "I64", shape: [numbers], data_offsets: [0, numbers * 8] } });
  return `${String.fromCharCode(headerBytes)}${"\0".repeat(7)}${header.padEnd(headerBytes)}`;
}

const MSGPACK = "TRB1\x01";

test.each([
  ["msgpack", MSGPACK],
  ["npz", "PK\x03\x04"],
  ["damaged safetensors", safetensors(1)],
])("%s that are too large to be read as a whole are their participant's problem", async (_format, head) => {
  await expect(inspectBlob(fixture.blobs, large(head).sha256)).rejects.toMatchObject({
    name: "ParticipantProblem",
    message: expect.stringContaining("UNSUPPORTED_PARAMETERS: its update cannot be read. The parameters have 2200000000 bytes"),
    again: false,
  });
});

test("opaque parameters and whole safetensors of any size are inspected in pieces", async () => {
  expect(await inspectBlob(fixture.blobs, large("\x80\x04").sha256)).toBe(OPAQUE);
  const layout = await inspectBlob(fixture.blobs, large(safetensors(0)).sha256);
  expect(JSON.parse(layout)).toMatchObject([["w", "i64", [274_999_984]]]);
});

describe.each(["fedavg", { name: "fedbuff", buffer: 2 }])("in rounds of %j", (strategy) => {
  test.each([
    ["of another format", MSGPACK, "UNSUPPORTED_PARAMETERS"],
    ["with other tensors than the model", safetensors(0), "SHAPE_MISMATCH"],
  ])("an update of more than two gigabytes %s fails its participant alone", async (_what, head, reason) => {
    const train: Script["train"] = (id) => ({ model: id === "p2" ? large(head) : model(3, 4), samples: 10 });
    const { problem, rounds } = await fixture.run({ strategy, minResults: 1, deadlineMs: 1000 }, { train }, { initial: model(1, 2) });
    expect(problem).toBeUndefined();
    expect(rounds[0]?.participants).toMatchObject([
      { participantId: "p1", state: "accepted" },
      { participantId: "p2", state: "failed", reason: expect.stringContaining(reason) },
    ]);
  });
});
