import type { ApiKey } from "../../api/types.ts";

/** Form values of whether a key's prompts and answers are stored. */
export interface ContentValues {
  logContent: string;
  logContentDays: number | string;
}

export const INHERITED = "inherited";

export function contentValues(apiKey: Pick<ApiKey, "logContent" | "logContentDays"> | undefined): ContentValues {
  const { logContent = null, logContentDays = null } = apiKey ?? {};
  return { logContent: logContent === null ? INHERITED : String(logContent), logContentDays: logContentDays ?? "" };
}

/** The change of the setting as a part of a request body. Only owners and admins may send it, so what did not change is left out. */
export function contentBody(values: ContentValues, before: ContentValues) {
  if (values.logContent === before.logContent && values.logContentDays === before.logContentDays) return {};
  return {
    logContent: values.logContent === INHERITED ? null : values.logContent === "true",
    logContentDays: values.logContent === "true" && typeof values.logContentDays === "number" ? values.logContentDays : null,
  };
}
