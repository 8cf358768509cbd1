import { join } from "node:path";
import { type Capability, declaredCapabilities } from "../../../common/training/capabilities.ts";
import { readMetrics } from "../../../common/training/metrics.ts";
import type { BlobFolder } from "../../coordinator/blobs/blob-folder.ts";
import { ParticipantProblem } from "../../coordinator/participants/participant-problem.ts";
import { type Participants, type ParticipantTask, readEvaluation, readSamples } from "../../coordinator/participants/participants.ts";
import type { PartialWork } from "../virtual-clients.ts";
import type { Frame } from "./frames.ts";
import type { PythonPool } from "./python-pool.ts";

interface PythonClients {
  readonly pool: PythonPool;
  readonly blobs: BlobFolder;
  readonly partialWork: PartialWork;
  /** Whether the train function applies the proximal term. */
  readonly proximal: boolean;
}

/** What processes with the Python SDK declare. A file without an initial function refuses the call for untrained parameters. */
const CAPABILITIES = { clip: true, noise: true, compress: true, initial: true, formats: ["safetensors"] };

/** Virtual clients whose train and evaluate functions are Python, each a call in one of a few processes. */
export function createPythonClients({ pool, blobs, partialWork, proximal }: PythonClients): Participants {
  const able: ReadonlySet<Capability> = declaredCapabilities({ ...CAPABILITIES, proximal });
  const call = async (operation: "train" | "evaluate", task: ParticipantTask, signal: AbortSignal): Promise<Frame> => {
    const { dataset = null, config, roundId: round_id, clientId: client_id, parameters } = task;
    const fields = { dataset, config, format: "safetensors", round_id, client_id };
    const answer = await pool.run({ operation, fields, file: parameters === "" ? null : join(blobs.folder, parameters) }, signal);
    const { error } = answer.header;
    if (typeof error === "string") throw new ParticipantProblem(error, { again: false });
    return answer;
  };
  return {
    reach: async () => "octets",
    capabilities: async () => able,
    train: async ({ url }, task, signal) => {
      const partial = partialWork(task, url);
      if (partial?.isLate) throw new ParticipantProblem("it had not answered when the round was closed", { again: false });
      const config = partial ? { ...task.config, epochs: partial.epochs } : task.config;
      const { header, body } = await call("train", { ...task, config }, signal);
      const { num_samples: samples, metrics } = fieldsOf({ header, body });
      const { sha256: blob, bytes } = await blobs.keepBytes(body);
      return { blob, bytes, samples: readSamples(samples), metrics: readMetrics(metrics) };
    },
    evaluate: async (_node, task, signal) => readEvaluation(fieldsOf(await call("evaluate", task, signal))),
    aggregate: async () => {
      throw new ParticipantProblem("virtual clients cannot aggregate opaque parameters; return safetensors", { again: false });
    },
  };
}

const fieldsOf = ({ header }: Frame) => header["fields"] as Readonly<Record<string, unknown>>;
