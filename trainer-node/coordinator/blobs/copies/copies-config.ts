import { z } from "zod";
import type { Clock } from "../../../../common/clock.ts";
import { ConfigError, countSetting, listSetting, type Settings } from "../../../../common/config.ts";
import type { Logger } from "../../../../common/logger.ts";
import { isTrustedAddress } from "../../../../common/peers/coordinator-address.ts";
import { peerFetch } from "../../../../common/peers/peer-fetch.ts";
import type { PeerTls } from "../../../../common/peers/tls.ts";
import { secretSetting } from "../../../../common/secret-files.ts";
import { openFolderObjects } from "../objects/folder-objects.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import { openS3Objects } from "../objects/s3-objects.ts";
import type { SweptPlace } from "../sweep-blobs.ts";
import type { BlobCopies } from "./blob-copies.ts";
import { createPeerCopies } from "./peer-copies.ts";
import { createSharedCopies, sharedPlace } from "./shared-copies.ts";

/** Where copies of blobs are. At most one of the three ways is set; without one, blobs are in the coordinator's folder only. */
export const copiesSettings = {
  BLOBS_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be a bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens")
    .optional()
    .describe(
      "Bucket of an S3 server in which all coordinators store updates and models, so that any of them continues the federations of one that is lost.",
    ),
  BLOBS_S3_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .optional()
    .meta({ description: "Address of an S3 server other than AWS; the bucket is the first part of the path.", shownDefault: "AWS" }),
  BLOBS_S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,50}$/, "must be a region's name, such as us-east-1")
    .default("us-east-1")
    .describe("Region of the bucket."),
  BLOBS_S3_PREFIX: z
    .string()
    .regex(/^([A-Za-z0-9_-][A-Za-z0-9_.-]*\/)*$/, "must be empty, or names that each end in a slash")
    .default("")
    .describe("What the keys of objects begin with, such as `training/`."),
  AWS_ACCESS_KEY_ID: secretSetting(z.string().min(1).optional().describe("Access key of the bucket.")),
  AWS_SECRET_ACCESS_KEY: secretSetting(z.string().min(1).optional().describe("Secret key of the bucket.")),
  AWS_SESSION_TOKEN: secretSetting(z.string().min(1).optional().describe("Session token, if the keys of the bucket are temporary.")),
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
  const hasKeys = settings.awsAccessKeyId !== undefined && settings.awsSecretAccessKey !== undefined;
  if (ways.BLOBS_S3_BUCKET && !hasKeys)
    throw new ConfigError(["AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: must be set with BLOBS_S3_BUCKET"]);
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
  if (bucket === undefined) return undefined;
  const { awsAccessKeyId: accessKeyId = "", awsSecretAccessKey: secretAccessKey = "", awsSessionToken: sessionToken } = settings;
  return openS3Objects({ bucket, endpoint, region, prefix, keys: { accessKeyId, secretAccessKey, sessionToken }, clock });
}
