import { z } from "zod";
import type { Clock } from "../../../../common/clock.ts";
import { ConfigError, countSetting, listSetting, type Settings } from "../../../../common/config.ts";
import type { Logger } from "../../../../common/logger.ts";
import { openFolderObjects } from "../../../../common/objects/folder-objects.ts";
import type { ObjectStore } from "../../../../common/objects/object-store.ts";
import { openBucket, requireS3Keys, s3Fields, s3KeySettings } from "../../../../common/objects/s3-settings.ts";
import { isTrustedAddress } from "../../../../common/peers/coordinator-address.ts";
import { peerFetch } from "../../../../common/peers/peer-fetch.ts";
import type { PeerTls } from "../../../../common/peers/tls.ts";
import type { SweptPlace } from "../sweep-blobs.ts";
import type { BlobCopies } from "./blob-copies.ts";
import { createPeerCopies } from "./peer-copies.ts";
import { createSharedCopies, sharedPlace } from "./shared-copies.ts";

/** Where copies of blobs are. At most one of the three ways is set; without one, blobs are in the coordinator's folder only. */
export const copiesSettings = {
  BLOBS_S3_BUCKET: s3Fields.bucket.describe(
    "Bucket of an S3 server in which all coordinators store updates and models, so that any of them continues the federations of one that is lost.",
  ),
  BLOBS_S3_ENDPOINT: s3Fields.endpoint,
  BLOBS_S3_REGION: s3Fields.region,
  BLOBS_S3_PREFIX: s3Fields.prefix.describe("What the keys of objects begin with, such as `training/`."),
  ...s3KeySettings,
  BLOBS_FOLDER: z.string().min(1).optional().describe("Folder of a file system that all coordinators mount, in place of a bucket."),
  COORDINATOR_PEERS: listSetting().describe(
    "Addresses of the other coordinators, separated by commas. Without a bucket or a shared folder, updates and models are copied to them and fetched from them by hash.",
  ),
  COORDINATOR_COPIES: countSetting(2, { min: 1, max: 10 }).describe(
    "With `COORDINATOR_PEERS`: how many coordinators have to have an update or a model before it counts, with the one that received it.",
  ),
  COORDINATOR_PEER_LOST_MS: countSetting(10_000, { min: 100, max: 86_400_000 }).describe(
    "With `COORDINATOR_PEERS`: a coordinator that has not answered for this time is lost, and copies are not waited for until it is back.",
  ),
};

type CopiesSettings = Settings<typeof copiesSettings>;

/** Refuses settings that contradict each other. */
export function requireOneWay(settings: CopiesSettings, hasTls: boolean): void {
  const ways = {
    BLOBS_S3_BUCKET: settings.blobsS3Bucket !== undefined,
    BLOBS_FOLDER: settings.blobsFolder !== undefined,
    COORDINATOR_PEERS: settings.coordinatorPeers.length > 0,
  };
  const set = Object.entries(ways).flatMap(([name, isSet]) => (isSet ? [name] : []));
  if (set.length > 1) throw new ConfigError([`${set.join(", ")}: set one of them; each is a way to copy blobs`]);
  if (ways.BLOBS_S3_BUCKET) requireS3Keys(settings, "BLOBS_S3_BUCKET");
  const wrong = settings.coordinatorPeers.find((address) => !isTrustedAddress(address, { hasTls }));
  if (wrong === undefined) return;
  const expected = hasTls ? "https://host:port" : "http://127.0.0.1:port; for other machines set TLS_CERT";
  throw new ConfigError([`COORDINATOR_PEERS: ${wrong.slice(0, 200)} must be ${expected}`]);
}

export interface CopiesDeps {
  /** This coordinator's folder of blobs. */
  readonly folder: string;
  /** A name of this process that no other has. */
  readonly self: string;
  readonly token: string | undefined;
  readonly tls: PeerTls | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Opens what the settings name; undefined if blobs have no copies. */
export function openCopies(settings: CopiesSettings, deps: CopiesDeps): { copies: BlobCopies; shared?: SweptPlace } | undefined {
  const objects = openObjects(settings, deps);
  if (objects) return { copies: createSharedCopies({ objects, folder: deps.folder }), shared: sharedPlace(objects) };
  const { coordinatorPeers: peers, coordinatorCopies: copies, coordinatorPeerLostMs: lostMs } = settings;
  if (peers.length === 0) return undefined;
  const { self, token, tls, clock, logger } = deps;
  return { copies: createPeerCopies({ peers, self, copies, lostMs, token, fetch: peerFetch(tls, "coordinator"), clock, logger }) };
}

function openObjects(settings: CopiesSettings, { clock }: CopiesDeps): ObjectStore | undefined {
  if (settings.blobsFolder !== undefined) return openFolderObjects(settings.blobsFolder);
  const { blobsS3Bucket: bucket, blobsS3Endpoint: endpoint, blobsS3Region: region, blobsS3Prefix: prefix } = settings;
  return bucket === undefined ? undefined : openBucket({ bucket, endpoint, region, prefix }, settings, clock);
}
