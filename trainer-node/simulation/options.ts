import { availableParallelism } from "node:os";
import { z } from "zod";
import { type FederationSettings, federationSettings } from "../../common/federation-settings.ts";

const CLIENTS_MAX = 100_000;

const simulation = z.object({
  /** Virtual clients; the task's data set is shared out among them. */
  clients: z.int().min(1, "must be at least 1").max(CLIENTS_MAX, `must be at most ${CLIENTS_MAX}`),
  threads: z
    .int()
    .min(1)
    .max(256)
    .default(() => availableParallelism()),
  stragglers: z
    .object({
      /** Of each round's clients: so many have time for a part of their epochs only. */
      share: z.number().min(0, "must be at least 0").lt(1, "must be below 1"),
      /** Their part counts, or a round goes on without them, as if they had not answered in time. */
      work: z.enum(["partial", "dropped"], "must be partial or dropped"),
    })
    .optional(),
  /** A module of registered functions, as a node's TRAINER_FUNCTIONS. */
  functions: z.string().min(1).optional(),
});

export interface SimulationOptions extends z.infer<typeof simulation> {
  readonly settings: FederationSettings;
}

/** A federation's settings, and beside them what a simulation has of its own. Throws with every problem in one text. */
export function readSimulation(value: unknown): SimulationOptions {
  const { clients, threads, stragglers, functions, ...settings } = Object(value) as Record<string, unknown>;
  const own = simulation.safeParse({ clients, threads, stragglers, functions });
  const federation = federationSettings.safeParse(settings);
  const problems = [...(own.error?.issues ?? []), ...(federation.error?.issues ?? [])];
  if (!own.success || !federation.success) throw new Error(problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
  return { ...own.data, settings: federation.data };
}
