import type { z } from "zod";

export type HttpMethod = "get" | "post" | "put" | "patch" | "delete";

/** The required authentication: none, a platform JWT of a user or of a platform admin, or an API key. */
export type OperationAuth = "none" | "user" | "admin" | "key";

/** One response of an operation in /openapi.json. */
export interface ResponseDescription {
  readonly description: string;
  /** Absent if the response has no body, or one that is not described. */
  readonly schema?: z.ZodType | undefined;
  /** "application/json" when absent. */
  readonly contentType?: string | undefined;
}

/** One HTTP operation in /openapi.json and /docs. */
export interface OperationDescription {
  readonly method: HttpMethod;
  /** In express' syntax: "/api/gw/teams/:id". */
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
