import { z } from "zod";
import type { Clock } from "../clock.ts";
import { ConfigError } from "../config.ts";
import { secretSetting } from "../secret-files.ts";
import type { ObjectStore } from "./object-store.ts";
import { openS3Objects } from "./s3-objects.ts";

/** What a process asks about a bucket; each names its settings `…_S3_BUCKET` and so on. */
export const s3Fields = {
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be a bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens")
    .optional(),
  endpoint: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .optional()
    .meta({ description: "Address of an S3 server other than AWS; the bucket is the first part of the path.", shownDefault: "AWS" }),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,50}$/, "must be a region's name, such as us-east-1")
    .default("us-east-1")
    .describe("Region of the bucket."),
  prefix: z
    .string()
    .regex(/^([A-Za-z0-9_-][A-Za-z0-9_.-]*\/)*$/, "must be empty, or names that each end in a slash")
    .default(""),
};

/** The keys of the bucket, by the names that every S3 client has for them. */
export const s3KeySettings = {
  AWS_ACCESS_KEY_ID: secretSetting(z.string().min(1).optional().describe("Access key of the bucket.")),
  AWS_SECRET_ACCESS_KEY: secretSetting(z.string().min(1).optional().describe("Secret key of the bucket.")),
  AWS_SESSION_TOKEN: secretSetting(z.string().min(1).optional().describe("Session token, if the keys of the bucket are temporary.")),
};

interface S3Keys {
  readonly awsAccessKeyId?: string | undefined;
  readonly awsSecretAccessKey?: string | undefined;
  readonly awsSessionToken?: string | undefined;
}

/** Refuses a bucket without keys. `setting` is the name of the bucket's setting. */
export function requireS3Keys({ awsAccessKeyId, awsSecretAccessKey }: S3Keys, setting: string): void {
  if (awsAccessKeyId !== undefined && awsSecretAccessKey !== undefined) return;
  throw new ConfigError([`AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: must be set with ${setting}`]);
}

/** A bucket as the settings name it. */
interface S3Place {
  readonly bucket: string;
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly prefix: string;
}

export function openBucket(place: S3Place, { awsAccessKeyId, awsSecretAccessKey, awsSessionToken }: S3Keys, clock: Clock): ObjectStore {
  const keys = { accessKeyId: awsAccessKeyId ?? "", secretAccessKey: awsSecretAccessKey ?? "", sessionToken: awsSessionToken };
  return openS3Objects({ ...place, keys, clock });
}
