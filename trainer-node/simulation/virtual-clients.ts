import type { Random } from "../../common/random.ts";
import type { Capability } from "../../common/training/capabilities.ts";
import { readMetrics } from "../../common/training/metrics.ts";
import { ParticipantProblem } from "../coordinator/participants/participant-problem.ts";
import { type Participants, type ParticipantTask, readEvaluation, readSamples } from "../coordinator/participants/participants.ts";
import { TrainerError } from "../errors.ts";
import type { StoredAnswer } from "../operations/store-answer.ts";
import type { ComputePool } from "../pool/pool.ts";

/** The work that a straggler of a round has time for. */
export type PartialWork = (
  task: ParticipantTask,
  participantUrl: string,
) => { readonly epochs: number; readonly isLate: boolean } | undefined;

interface VirtualClients {
  readonly pool: ComputePool;
  readonly partialWork: PartialWork;
  readonly capabilities: ReadonlySet<Capability>;
  readonly random: Random;
}

/**
 * Participants without processes: each is a call of the node's operations in one of a few threads, on its part of the data. A round treats
 * them like any others.
 */
export function createVirtualClients({ pool, partialWork, capabilities, random }: VirtualClients): Participants {
  const call = async (operation: "train" | "evaluate", task: ParticipantTask, signal: AbortSignal) => {
    const fields = {
      dataset: task.dataset ?? null,
      config: task.config,
      format: "safetensors",
      round_id: task.roundId,
      client_id: task.clientId,
      ...(task.parameters === "" ? {} : { parameters_ref: `sha256:${task.parameters}` }),
    };
    const body = new TextEncoder().encode(JSON.stringify(fields));
    const answerType = operation === "train" ? "octets" : "json";
    try {
      const noiseKey = random.bytes(32);
      const call = { type: "call", operation, body, answerType, keep: operation === "train", seed: 0, noiseKey } as const;
      const answer = await pool.run(call, { signal });
      return new TextDecoder().decode(answer.body);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof TrainerError) throw new ParticipantProblem(thrown.message, { again: false, cause: thrown });
      throw thrown;
    }
  };
  return {
    reach: async () => "octets",
    capabilities: async () => capabilities,
    train: async ({ url }, task, signal) => {
      const partial = partialWork(task, url);
      if (partial?.isLate) throw new ParticipantProblem("it had not answered when the round was closed", { again: false });
      const config = partial ? { ...task.config, epochs: partial.epochs } : task.config;
      const { sha256, bytes, layout, head } = JSON.parse(await call("train", { ...task, config }, signal)) as StoredAnswer;
      const { num_samples: samples, metrics } = JSON.parse(head) as { num_samples?: unknown; metrics?: unknown };
      return { blob: sha256, bytes, layout, samples: readSamples(samples), metrics: readMetrics(metrics) };
    },
    evaluate: async (_node, task, signal) => readEvaluation(JSON.parse(await call("evaluate", task, signal)) as Record<string, unknown>),
    aggregate: async () => {
      throw new ParticipantProblem("virtual clients cannot aggregate opaque parameters; return parameters in a readable format", {
        again: false,
      });
    },
  };
}
