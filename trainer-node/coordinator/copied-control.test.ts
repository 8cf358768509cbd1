import { Federation, Round, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { BlobsUnavailable } from "./blobs/copies/blob-copies.ts";
import type { FederationControl } from "./control.ts";
import { withCopiedBlobs } from "./copied-control.ts";

const { signal } = new AbortController();
const steps: string[] = [];
let isFull = false;

const control = {
  recordResult: async (_round, { updateBlob }) => {
    steps.push(`record ${updateBlob}`);
    return Round.fromPartial({});
  },
  commitRound: async () => {
    steps.push("commit");
    return Federation.fromPartial({ headBlob: "result", headStateBlob: "state" });
  },
} as Partial<FederationControl> as FederationControl;
const copying = (how: string) => ({
  copied: async (hashes: readonly string[], { isReferenced }: { isReferenced: boolean }) => {
    if (isFull) throw new BlobsUnavailable("room");
    if (hashes.length > 0) steps.push(`copy ${how}${isReferenced ? "head " : ""}${hashes.join()}`);
  },
});
const [blobs, hidden] = [copying(""), copying("hidden ")];
const federation = Federation.fromPartial({ headBlob: "base" });
const accepted = (updateBlob: string) => RoundParticipant.fromPartial({ state: "accepted", updateBlob });
const commit = {
  round: 2,
  record: JSON.stringify({ result: "result", strategy: { secure: { proof: "proof" } } }),
  stateBlob: "state",
  evaluations: [],
  participants: [],
};

beforeEach(() => {
  steps.length = 0;
  isFull = false;
});

test("an update, and the base of its round, have copies before it is recorded; a result, its state and its proof before the commit", async () => {
  const copied = withCopiedBlobs(control, { results: blobs, blobs: hidden, federation, signal });
  await copied.recordResult(2, accepted("one"));
  await copied.recordResult(2, accepted("two"));
  await copied.commitRound({ ...commit, accuracy: undefined, loss: undefined, epsilon: undefined });
  await copied.recordResult(3, accepted("three"));
  expect(steps).toEqual([
    ...["copy head base", "copy hidden one", "record one", "copy hidden two", "record two"],
    ...["copy result,state", "copy hidden proof", "commit", "copy head result,state", "copy hidden three", "record three"],
  ]);
});

test("a failed participant has no blob to copy", async () => {
  await withCopiedBlobs(control, { results: blobs, blobs: hidden, federation, signal }).recordResult(
    2,
    RoundParticipant.fromPartial({ state: "failed" }),
  );
  expect(steps).toEqual(["record "]);
});

test("nothing is recorded or committed without copies", async () => {
  isFull = true;
  const copied = withCopiedBlobs(control, { results: blobs, blobs: hidden, federation, signal });
  await expect(copied.recordResult(2, accepted("one"))).rejects.toThrow(BlobsUnavailable);
  const committed = copied.commitRound({ ...commit, accuracy: undefined, loss: undefined, epsilon: undefined });
  await expect(committed).rejects.toThrow(BlobsUnavailable);
  expect(steps).toEqual([]);
});
