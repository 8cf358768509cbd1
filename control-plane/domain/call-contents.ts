/** Whether prompts and answers of calls are stored, for an organization or one of its keys. */
export interface ContentSetting {
  /** Absent in a key: as its organization decides; absent in an organization: no. */
  logContent?: boolean;
  /** Absent in a key: as its organization decides; absent in an organization: DEFAULT_CONTENT_DAYS. */
  logContentDays?: number;
}

/** Prompt and answer of a call. */
export interface CallContentRecord {
  /** The id of the call. */
  id: string;
  organizationId: string;
  createdAt: number;
  expiresAt: number;
  /** A `Content` message. */
  sealedContent: string;
}

export const DEFAULT_CONTENT_DAYS = 30;
export const CONTENT_DAYS_MAX = 90;

const DAY_MS = 24 * 3_600_000;

/** What applies to calls of a key: its own setting, or that of its organization. */
export function contentSettingOf(
  organization: ContentSetting | undefined,
  key: ContentSetting | undefined,
): { isStored: boolean; days: number } {
  return {
    isStored: key?.logContent ?? organization?.logContent ?? false,
    days: key?.logContentDays ?? organization?.logContentDays ?? DEFAULT_CONTENT_DAYS,
  };
}

/** When the content of a call is removed. */
export function contentExpiry(createdAt: number, days: number): number {
  return createdAt + days * DAY_MS;
}
