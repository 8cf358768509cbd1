import { TrainerError } from "../errors.ts";
import { type OperationAnswer, sha256 } from "../operations/answer.ts";

/** Fields that the node adds to the function's result. */
interface NodeFields {
  readonly durationMs: number;
  readonly seed: number;
  readonly warnings: readonly string[];
}

/** Reads the parameters that a function returned. Every field is checked, because a JavaScript function may return anything. */
export function readParameters(name: "train" | "aggregate" | "initial", result: unknown, nodeFields: NodeFields): OperationAnswer {
  const { parameters, state, numSamples, metrics, clients } = asObject(result instanceof Uint8Array ? { parameters: result } : result);
  if (!(parameters instanceof Uint8Array) || parameters.byteLength === 0) {
    throw wrong(name, "a Uint8Array that is not empty, or an object with one as `parameters`", result);
  }
  if (state !== undefined && !(state instanceof Uint8Array)) throw wrong(name, "a Uint8Array as `state`", state);
  if (clients !== undefined && !Array.isArray(clients)) throw wrong(name, "a list as `clients`", clients);
  const pieces = [parameters];
  return {
    parameters: pieces,
    ...(state && { state: [state] }),
    fields: {
      ...sharedFields(name, { numSamples, metrics }, nodeFields),
      sha256: sha256(pieces),
      ...(clients && { clients: plain(name, clients) as unknown[] }),
      seed: nodeFields.seed,
      warnings: nodeFields.warnings,
    },
  };
}

/** Reads the accuracy that a function returned. */
export function readAccuracy(result: unknown, nodeFields: NodeFields): OperationAnswer {
  const { accuracy, numSamples, metrics } = asObject(typeof result === "number" ? { accuracy: result } : result);
  if (typeof accuracy !== "number" || !Number.isFinite(accuracy)) {
    throw wrong("evaluate", "a finite number, or an object with one as `accuracy`", result);
  }
  return { fields: { accuracy, ...sharedFields("evaluate", { numSamples, metrics }, nodeFields), warnings: nodeFields.warnings } };
}

/** Most characters of an answer. */
const OUTPUT_CHARACTERS_MAX = 100_000;

/** Reads what a serve function returned: text, or a value as JSON. */
export function readOutput(result: unknown, nodeFields: NodeFields): OperationAnswer {
  const value = result === undefined || result instanceof Uint8Array ? undefined : plain("serve", { value: result });
  const { value: read } = asObject(value);
  if (read === undefined || read === null) throw wrong("serve", "text, or a value that JSON can represent", result);
  const output = typeof read === "string" ? read : JSON.stringify(read);
  if (output.length > OUTPUT_CHARACTERS_MAX) throw wrong("serve", `at most ${OUTPUT_CHARACTERS_MAX} characters`, result);
  return { fields: { output, metrics: { duration_ms: nodeFields.durationMs }, seed: nodeFields.seed, warnings: nodeFields.warnings } };
}

function sharedFields(name: string, given: { numSamples: unknown; metrics: unknown }, nodeFields: NodeFields): object {
  const { numSamples, metrics } = given;
  if (numSamples !== undefined && (!Number.isSafeInteger(numSamples) || (numSamples as number) < 0))
    throw wrong(name, "a whole number from 0 as `numSamples`", numSamples);
  if (metrics !== undefined && (typeof metrics !== "object" || metrics === null || Array.isArray(metrics)))
    throw wrong(name, "an object as `metrics`", metrics);
  return {
    ...(numSamples !== undefined && { num_samples: numSamples }),
    metrics: { ...((metrics === undefined ? {} : plain(name, metrics)) as object), duration_ms: nodeFields.durationMs },
  };
}

/** The value after a JSON round trip, so that a value that JSON cannot represent is reported here with the function's name. */
function plain(name: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (cause) {
    throw new TrainerError(
      "FUNCTION_ERROR",
      `The function for ${name} returned a value that JSON cannot represent: ${String(cause).slice(0, 200)}`,
    );
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function wrong(name: string, wanted: string, found: unknown): TrainerError {
  const kind = found === null ? "null" : Array.isArray(found) ? "a list" : typeof found;
  return new TrainerError("FUNCTION_ERROR", `The function for ${name} must return ${wanted}; it returned ${kind}.`);
}
