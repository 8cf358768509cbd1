import type { z } from "zod";

export type HttpMethod = "get" | "post" | "put" | "patch" | "delete";

/** Who may call: anybody, a signed-in user (platform JWT), a platform admin, or the holder of an API key. */
export type OperationAuth = "none" | "user" | "admin" | "key";

export interface ResponseDescription {
  readonly description: string;
  /** Absent: the answer has no JSON body, or one that is not described. */
  readonly schema?: z.ZodType | undefined;
  /** "application/json" when absent. */
  readonly contentType?: string | undefined;
}

/** What /openapi.json and /docs say about one HTTP operation. Every half of the edge hands in a list of these. */
export interface OperationDescription {
  readonly method: HttpMethod;
  /** As express takes it: "/api/gw/teams/:id". */
  readonly path: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly auth: OperationAuth;
  readonly body?: z.ZodType | undefined;
  /** "application/json" when absent. */
  readonly bodyType?: "application/json" | "multipart/form-data" | "application/x-www-form-urlencoded" | undefined;
  readonly query?: z.ZodType | undefined;
  readonly params?: z.ZodType | undefined;
  readonly responses: Readonly<Record<number, ResponseDescription>>;
}
