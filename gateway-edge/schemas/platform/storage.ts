import { z } from "zod";

const bytes = z.int().describe("bytes");

/** Bytes that the active organization has stored, and what it may store. */
export const storageAnswer = z.object({
  storage: z.object({
    /** Files of the Files API, including results of batches. */
    files: z.object({ used: bytes, limit: bytes }),
    /** Uploads, updates and models of training: the sum of all places that answered. */
    blobs: z.object({
      used: bytes,
      limit: bytes,
      /** The coordinator and each shared trainer node have a limit of their own. Null: the place does not answer. */
      places: z.array(z.object({ place: z.string(), used: bytes.nullable(), limit: bytes.nullable() })),
    }),
  }),
});
