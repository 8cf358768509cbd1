import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import { createSecureParticipants } from "./participants.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-secure-answers-"));
const blobs = openBlobFolder({ folder, bytesMax: 1000 });
afterAll(() => rmSync(folder, { recursive: true }));

const secret = Buffer.alloc(32, 1).toString("base64");
const introduction = { id: "p1", pair_key: secret, share_key: secret, mask_hash: secret };

// The samples of all of them are the divisor of the mean, so that one below 0 made it as large as its participant liked, or negated it.
test.each([
  [-300, 0],
  [-1e300, 0],
  [0, 0],
  [2.6, 3],
  [undefined, undefined],
])("a participant of a secure round that declares %p samples weighs as one with %p", async (declared, samples) => {
  const answer = { introduction, num_samples: declared, layout: [{ name: "w", dtype: "f32", shape: [2] }] };
  const call = async () => ({ status: 200, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(answer))]) });
  const participant = Participant.fromPartial({ id: "p1", url: "http://one" });
  const task = { parameters: "", config: {}, dataset: "null", roundId: "fed/1" } as never;
  const trained = await createSecureParticipants({ call, blobs }).train(
    participant,
    { round: "r", client: "p1" },
    task,
    AbortSignal.timeout(10_000),
  );
  expect(trained.samples).toBe(samples);
});
