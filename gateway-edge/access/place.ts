import { FeedPlace } from "../../common/feed-place.ts";
import type { Place } from "../../proto/gen/tributary/access/v1/access.ts";

/** The place of an answer. A control plane that sends none numbers all changes in one lane, the first. */
export function placeOf({ revision, place }: { revision: bigint; place?: Place | undefined }): FeedPlace {
  return new FeedPlace((place?.revisions ?? [revision]).map(Number));
}

/** A place as it is sent. */
export function placeMessage({ revisions }: FeedPlace): Place {
  return { revisions: revisions.map(BigInt) };
}
