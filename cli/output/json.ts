import { toJson } from "../../common/json.ts";

/** One indented JSON document. */
export const documentJson = (value: unknown): string => `${toJson(value, 2)}\n`;

/** One line of NDJSON. */
export const lineJson = (value: unknown): string => `${toJson(value)}\n`;
