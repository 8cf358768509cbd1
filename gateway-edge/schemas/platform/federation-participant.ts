import { z } from "zod";
import { id } from "../fields.ts";

const URL_LENGTH_MAX = 2048;
const SECRET_LENGTH_MAX = 256;

/** The address of a node. */
export const url = z.string().trim().min(1, "must not be empty").max(URL_LENGTH_MAX, `must have at most ${URL_LENGTH_MAX} characters`);
/** A token or secret of a node. */
export const secret = z.string().min(16, "must have at least 16 characters").max(SECRET_LENGTH_MAX);

const INNER_ROUNDS_MAX = 1000;
const OF_CALLS = ["dataset", "secret", "token"] as const;

/** A participant of a new federation. */
export const participant = z
  .strictObject({
    /** The address of the participant. */
    url: url.optional(),
    /** True if the participant has no address and joins with a join token. */
    join: z.boolean().optional(),
    /** The id of a federation of the organization that is the participant; the caller must manage it. */
    federation: id.optional(),
    /** With `federation`: how many of its rounds are one training. */
    innerRounds: z.int().min(1, "must be at least 1").max(INNER_ROUNDS_MAX, `must be at most ${INNER_ROUNDS_MAX}`).optional(),
    /** The organization that receives its rewards; by default the federation's. */
    organizationId: id.optional(),
    /** Sent as `dataset` with every call; by default the task's, else the node's own. */
    dataset: z.json().optional(),
    /** Signs the coordinator's calls; the node must have the same secret. */
    secret: secret.optional(),
    /** The bearer token of the node. */
    token: secret.optional(),
  })
  .refine((given) => [given.url !== undefined, given.join === true, given.federation !== undefined].filter(Boolean).length === 1, {
    path: ["url"],
    message: "must have either url, join: true or federation",
  })
  .refine((given) => given.federation !== undefined || given.innerRounds === undefined, {
    path: ["innerRounds"],
    message: "needs federation",
  })
  .refine((given) => given.federation === undefined || OF_CALLS.every((name) => given[name] === undefined), {
    path: ["federation"],
    message: `does not work with ${OF_CALLS.join(", ")}: a federation has its own settings`,
  });
