import { ignore, orElse } from "../../../common/ignore.ts";
import { createProgress, type FileDigest, type FollowedFile } from "../../blobs/followed-file.ts";
import { passingTensors } from "../../blobs/passing-tensors.ts";
import { type Digest, plainDigest } from "../blobs/blob-folder.ts";
import { hashFile } from "../blobs/hash-file.ts";
import { type Layout, layoutOfFound } from "./inspect-update.ts";

/** The hash and layout of an update, computed while it arrives. */
export interface UpdateDigest extends Digest {
  /** The layout after the end of the update; undefined if the update has to be read for it. */
  layout(): Layout | undefined;
}

/** `bytes` is the size of the update, if it is known. */
export type DigestUpdate = (bytes: number | undefined) => UpdateDigest;

/** Computes the digest in this thread. */
export const digestHere: DigestUpdate = (bytes) => {
  const plain = plainDigest();
  const passing = passingTensors(bytes);
  return {
    ...plain,
    add: (piece) => {
      plain.add(piece);
      passing.add(piece);
    },
    layout: () => layoutOfFound(passing.found()),
  };
};

/** A smaller update is hashed faster than another thread can be notified of it. */
const FOLLOWED_BYTES_MIN = 2 ** 20;

/** Computes the digests of large updates in another thread, because the event loop is busy receiving them. */
export function digestByFollowing(follow: (file: FollowedFile) => Promise<FileDigest>): DigestUpdate {
  return (bytes) => (bytes === undefined || bytes < FOLLOWED_BYTES_MIN ? digestHere(bytes) : followed(follow, bytes));
}

function followed(follow: (file: FollowedFile) => Promise<FileDigest>, bytes: number): UpdateDigest {
  const progress = createProgress();
  let path = "";
  let digest: Promise<FileDigest> | undefined;
  let found: FileDigest["found"];
  return {
    begin: (begun) => {
      path = begun;
      digest = follow({ path, bytes, progress: progress.memory });
      void ignore(digest, "end() awaits it");
    },
    add: (piece) => progress.add(piece.byteLength),
    end: async () => {
      progress.end();
      const made = digest && (await orElse(digest, undefined, "the stored update is accepted, and hashed here"));
      found = made?.found;
      return made?.sha256 ?? (await hashFile(path));
    },
    drop: progress.end,
    layout: () => layoutOfFound(found),
  };
}
