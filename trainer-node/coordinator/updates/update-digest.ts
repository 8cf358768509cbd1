import { createProgress, type FileDigest, type FollowedFile } from "../../blobs/followed-file.ts";
import { passingTensors } from "../../blobs/passing-tensors.ts";
import { type Digest, plainDigest } from "../blobs/blob-folder.ts";
import { hashFile } from "../blobs/hash-file.ts";
import { type Layout, layoutOfFound } from "./inspect-update.ts";

/** An update's hash, and how it looks, found while it arrives. */
export interface UpdateDigest extends Digest {
  /** What inspectUpdate says of it, once it has ended. Undefined where it has to be read for that. */
  layout(): Layout | undefined;
}

/** `bytes`: how long the update will be, where that is known. */
export type DigestUpdate = (bytes: number | undefined) => UpdateDigest;

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

/** Below this it is done before another thread has heard of it. */
const FOLLOWED_BYTES_MIN = 2 ** 20;

/** Large updates by another thread: the one that all of them arrive in has its hands full with receiving them. */
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
      digest.catch(() => {});
    },
    add: (piece) => progress.add(piece.byteLength),
    end: async () => {
      progress.end();
      // A thread that ends, for whatever reason, is no reason to refuse an update that is here.
      const made = await digest?.catch(() => undefined);
      found = made?.found;
      return made?.sha256 ?? (await hashFile(path));
    },
    drop: progress.end,
    layout: () => layoutOfFound(found),
  };
}
