import { z } from "zod";
import type { Settings } from "./config.ts";
import { exposureSettings, isExposed } from "./exposed.ts";

const GIB = 1024 ** 3;
/** Each visitor may sign up at an exposed deployment, so an organization gets less there. */
const FILES = { usual: 10 * GIB, exposed: GIB };
const RECORDS = { usual: 10 * GIB, exposed: GIB };
const BLOBS = { usual: 100 * GIB, exposed: 10 * GIB };

const bytesSetting = z.coerce.number("must be a whole number of bytes").int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

export const filesLimitSettings = {
  ...exposureSettings,
  FILES_BYTES_MAX_PER_ORGANIZATION: bytesSetting.meta({
    description:
      "Bytes of all files of an organization, including results of batches and, for a day, answers above 1 MiB under an `Idempotency-Key`. Beyond it, uploads are answered with 413.",
    shownDefault: "10737418240; 1073741824 when exposed",
  }),
};

export const recordsLimitSettings = {
  ...exposureSettings,
  RECORDS_BYTES_MAX_PER_ORGANIZATION: bytesSetting.meta({
    description:
      "Bytes of all stored responses, conversations and prompts of an organization. Beyond it, new ones are answered with 413; responses with `store: false` are not.",
    shownDefault: "10737418240; 1073741824 when exposed",
  }),
};

export const blobsLimitSettings = {
  ...exposureSettings,
  BLOBS_BYTES_MAX_PER_ORGANIZATION: bytesSetting.meta({
    description:
      "Bytes of all blobs of an organization at the coordinator, and as many on each shared trainer node: uploads, updates and models. Beyond it, uploads are answered with 413 and federations fail.",
    shownDefault: "107374182400; 10737418240 when exposed",
  }),
};

/** Most bytes of an organization's files. */
export function filesBytesMax(settings: Settings<typeof filesLimitSettings>): number {
  return settings.filesBytesMaxPerOrganization ?? (isExposed(settings) ? FILES.exposed : FILES.usual);
}

/** Most bytes of an organization's stored responses, conversations and prompts. */
export function recordsBytesMax(settings: Settings<typeof recordsLimitSettings>): number {
  return settings.recordsBytesMaxPerOrganization ?? (isExposed(settings) ? RECORDS.exposed : RECORDS.usual);
}

/** Most bytes of an organization's blobs in one folder. */
export function blobsBytesMax(settings: Settings<typeof blobsLimitSettings>): number {
  return settings.blobsBytesMaxPerOrganization ?? (isExposed(settings) ? BLOBS.exposed : BLOBS.usual);
}
