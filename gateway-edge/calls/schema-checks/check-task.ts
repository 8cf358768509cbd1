/** Texts to check against a schema; without texts the schema is only compiled. */
export interface CheckTask {
  /** The schema as JSON. */
  readonly schema: string;
  readonly texts: readonly string[];
}

/** Strings only, because it comes from another thread. */
export type CheckReply =
  /** The problem of the first text that does not match; absent: all match. */
  | { readonly type: "checked"; readonly problem?: string | undefined }
  /** The schema cannot be used. */
  | { readonly type: "invalid"; readonly message: string }
  /** Its time was over while it compiled the schema or checked a text. */
  | { readonly type: "slow"; readonly step: "schema" | "texts" }
  /** Too much waits before it, or waited for too long. */
  | { readonly type: "busy" }
  /** The thread ended by itself. */
  | { readonly type: "failed"; readonly reason: string };
