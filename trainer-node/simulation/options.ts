import { availableParallelism } from "node:os";
import { z } from "zod";
import { evaluationOf, evaluationProblems } from "../../common/training/evaluation-rules.ts";
import { type FederationSettings, federationSettings } from "../../common/training/federation-settings.ts";
import { filledStrategy, strategyTaskProblems } from "../../common/training/strategy-task.ts";

const CLIENTS_MAX = 100_000;

const simulation = z.object({
  /** Number of virtual clients; the task's dataset is partitioned among them. */
  clients: z.int().min(1, "must be at least 1").max(CLIENTS_MAX, `must be at most ${CLIENTS_MAX}`),
  threads: z
    .int()
    .min(1)
    .max(256)
    .default(() => availableParallelism()),
  stragglers: z
    .object({
      /** Share of each round's clients that have time for only a part of their epochs. */
      share: z.number().min(0, "must be at least 0").lt(1, "must be below 1"),
      /** Whether their partial work counts, or the round continues without them as if they had missed the deadline. */
      work: z.enum(["partial", "dropped"], "must be partial or dropped"),
    })
    .optional(),
  /** A module of registered functions, as in a node's TRAINER_FUNCTIONS, or a Python file (`.py`) that registers functions of the SDK. */
  functions: z.string().min(1).optional(),
  /** Whether the train function applies the proximal term of `config.mu`, as a participant declares it with `run({proximal: true})`. */
  proximal: z.boolean().default(false),
  /** The Python that runs such a file. */
  python: z.string().min(1).default("python3"),
  /** Runs such a file in `threads` actors of Ray: true starts Ray on this machine, a text is the address of a cluster. */
  ray: z.union([z.literal(true), z.string().min(1)], "must be true or the address of a cluster").optional(),
});

/** A simulation has no stored models to start from. */
const isStartHere = ({ initial }: FederationSettings): boolean => initial === undefined || "participant" in initial;
const START_HERE = { path: ["initial"], message: "must be {participant} in a simulation" };
/** Only a federation of the platform can wait for rounds of another one. */
const hasRounds = ({ rounds }: FederationSettings): boolean => rounds >= 1;
const HAS_ROUNDS = { path: ["rounds"], message: "must be at least 1" };

/** The checked options of a simulation. */
export interface SimulationOptions extends z.infer<typeof simulation> {
  readonly settings: FederationSettings;
}

/** Reads a federation's settings and the simulation's own. Throws one error with every problem. */
export function readSimulation(value: unknown): SimulationOptions {
  const { clients, threads, stragglers, functions, proximal, python, ray, ...settings } = Object(value) as Record<string, unknown>;
  const own = simulation.safeParse({ clients, threads, stragglers, functions, proximal, python, ray });
  const federation = federationSettings.refine(isStartHere, START_HERE).refine(hasRounds, HAS_ROUNDS).safeParse(settings);
  const problems = [...(own.error?.issues ?? []), ...(federation.error?.issues ?? [])];
  if (!own.success || !federation.success) throw new Error(problems.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
  if (own.data.ray !== undefined && !own.data.functions?.endsWith(".py"))
    throw new Error("ray: needs functions that are a Python file (.py)");
  // All clients are alike: none has data of its own beside the task's.
  const participants = Array.from({ length: own.data.clients }, () => ({}));
  const asked = { ...federation.data, eval: settings["eval"] === undefined ? undefined : federation.data.eval, participants };
  const [refused] = [...strategyTaskProblems(asked), ...evaluationProblems(asked)];
  if (refused) throw new Error(`${refused.path.join(".")}: ${refused.message}`);
  return { ...own.data, settings: { ...federation.data, strategy: filledStrategy(asked), eval: evaluationOf(asked) } };
}
