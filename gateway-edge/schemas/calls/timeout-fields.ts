import { z } from "zod";

const seconds = z.number().positive("must be above 0").nullish();

/** How many seconds each attempt of a call may take at most; of a stream, until its first token. */
export const timeoutFields = { timeout: seconds, stream_timeout: seconds };
