import { join, resolve } from "node:path";
import { z } from "zod";
import type { Clock } from "../../common/clock.ts";
import { ConfigError, type Settings } from "../../common/config.ts";
import { openFolderObjects } from "../../common/objects/folder-objects.ts";
import type { ObjectStore } from "../../common/objects/object-store.ts";
import { openBucket, requireS3Keys, s3Fields, s3KeySettings } from "../../common/objects/s3-settings.ts";
import { Parts } from "./parts.ts";

const keptDays = z.coerce.number("must be a whole number").int().min(7).max(36_500).optional();

/** What is archived, and where. */
export const archiveSettings = {
  USAGE_KEPT_DAYS: keptDays.meta({
    description:
      "Days that usage rows stay in the log, 7 or more. A month whose last day is older is moved to files in `ARCHIVE_DIR` or `ARCHIVE_S3_BUCKET`.",
    shownDefault: "for ever",
  }),
  AUDIT_KEPT_DAYS: keptDays.meta({
    description: "Days that entries of the audit log stay in the store, 7 or more. Older months are moved to the same place as usage rows.",
    shownDefault: "for ever",
  }),
  ARCHIVE_DIR: z
    .string()
    .transform((path) => resolve(path))
    .optional()
    .meta({
      description: "Folder of archives. Control planes that share a MongoDB should share it.",
      shownDefault: "`DATA_DIR`/archive",
    }),
  ARCHIVE_S3_BUCKET: s3Fields.bucket.describe("Bucket of an S3 server for archives, in place of `ARCHIVE_DIR`."),
  ARCHIVE_S3_ENDPOINT: s3Fields.endpoint,
  ARCHIVE_S3_REGION: s3Fields.region,
  ARCHIVE_S3_PREFIX: s3Fields.prefix.describe("What the keys of archives begin with, such as `archive/`."),
  ...s3KeySettings,
};

type ArchiveSettings = Settings<typeof archiveSettings>;

/** Refuses settings that contradict each other. */
export function requireOneArchive(settings: ArchiveSettings): void {
  if (settings.archiveS3Bucket === undefined) return;
  if (settings.archiveDir !== undefined)
    throw new ConfigError(["ARCHIVE_DIR, ARCHIVE_S3_BUCKET: set one of them; each is a place of archives"]);
  requireS3Keys(settings, "ARCHIVE_S3_BUCKET");
}

/** Opens the place that the settings name. `instance` is a name of this process that no other has. */
export function openArchive(
  settings: ArchiveSettings & { readonly dataDir: string },
  { clock, instance }: { clock: Clock; instance: string },
): Parts {
  return new Parts({ objects: openObjects(settings, clock), workFile: join(resolve(settings.dataDir), `archive-${instance}.partial`) });
}

function openObjects(settings: ArchiveSettings & { readonly dataDir: string }, clock: Clock): ObjectStore {
  const { archiveS3Bucket: bucket, archiveS3Endpoint: endpoint, archiveS3Region: region, archiveS3Prefix: prefix } = settings;
  if (bucket !== undefined) return openBucket({ bucket, endpoint, region, prefix }, settings, clock);
  return openFolderObjects(settings.archiveDir ?? resolve(settings.dataDir, "archive"));
}
