import type { RoundRecord } from "../../common/training/round-record.ts";
import type { Federation } from "../../proto/gen/tributary/training/v1/training.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";
import type { FederationControl } from "./control.ts";
import { proofOf } from "./secure/combine-masked.ts";

/**
 * Steps of a federation that refer to a blob only when it has its copies: an update before it is accepted, a result, its state and its proof
 * before the round is committed. The base that an open round starts from is copied with its first update, in case it was made while the
 * other coordinators were lost. `results` copies what the organization may read, `blobs` what may be hidden from it.
 */
export function withCopiedBlobs(
  control: FederationControl,
  given: { results: Copied; blobs: Copied; federation: Federation; signal: AbortSignal },
): FederationControl {
  const { results, blobs, federation, signal } = given;
  const copy = (place: Copied, hashes: readonly string[], how: { isReferenced: boolean }): Promise<void> =>
    place.copied(
      hashes.filter((hash) => hash !== ""),
      how,
      signal,
    );
  let head = [federation.headBlob, federation.headStateBlob];
  let headCopied: Promise<void> | undefined;
  return {
    ...control,
    setInitial: async (initial) => {
      await copy(results, [initial.blob], { isReferenced: false });
      const stored = await control.setInitial(initial);
      head = [stored.blob, ""];
      return stored;
    },
    recordResult: async (round, result) => {
      if (result.state === "accepted") {
        headCopied ??= copy(results, head, { isReferenced: true });
        await Promise.all([headCopied, copy(blobs, [result.updateBlob], { isReferenced: false })]);
      }
      return control.recordResult(round, result);
    },
    commitRound: async (commit) => {
      const record = JSON.parse(commit.record) as RoundRecord;
      await copy(results, [record.result, commit.stateBlob], { isReferenced: false });
      await copy(blobs, [proofOf(record)], { isReferenced: false });
      const committed = await control.commitRound(commit);
      head = [committed.headBlob, committed.headStateBlob];
      headCopied = undefined;
      return committed;
    },
  };
}

type Copied = Pick<BlobFolder, "copied">;
