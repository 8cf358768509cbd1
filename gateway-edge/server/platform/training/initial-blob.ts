import type { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { connectCoordinator } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { createFederationBody } from "../../../schemas/platform/training.ts";
import { DEADLINE_MS, type OperationCall } from "../../middleware/operation.ts";
import { requireOwnBlob } from "./own-blob.ts";

type Body = z.infer<typeof createFederationBody>;
type Initial = NonNullable<Body["initial"]>;

const PAGE_SIZE = 100;

/**
 * The SHA-256 of the parameters that a new federation starts from; undefined if it names none, or if a participant will be asked. The
 * parameters must be at the coordinator, belong to the caller's organization and suit the settings.
 */
export async function initialBlobOf(deps: EdgeDeps, { initial, ...settings }: Body, call: OperationCall): Promise<string | undefined> {
  if (!initial || "participant" in initial) return undefined;
  const blob = await namedBlob(deps, initial, call);
  const { strategy, dp, secureAggregation } = settings;
  const asked = { sha256: blob, settings: { strategy, dp, secureAggregation } };
  const problem = await connectCoordinator(deps.config).initialProblem(asked, call.read(DEADLINE_MS.verify));
  if (problem !== undefined) throw unusable(initial, problem);
  return blob;
}

async function namedBlob(deps: EdgeDeps, initial: Exclude<Initial, { participant: number }>, call: OperationCall): Promise<string> {
  if ("federation" in initial) {
    const { federation: federationId, round } = initial;
    return (await deps.control.training.findParameters({ federationId, round }, call.read())).blob;
  }
  if ("model" in initial) return modelBlob(deps, initial, call);
  await requireOwnBlob(deps, initial.blob, call, "body.initial.blob");
  return initial.blob;
}

/** The parameters of a version of a model of the caller's organization; of the newest version if none is named. */
async function modelBlob(
  { control }: EdgeDeps,
  initial: { model: string; version?: number | undefined },
  call: OperationCall,
): Promise<string> {
  const { model, version: wanted } = initial;
  for (let page = 1; ; page++) {
    const { versions } = await control.trainedModels.listVersions({ model, page: { page, pageSize: PAGE_SIZE } }, call.read());
    const found = wanted === undefined ? versions[0] : versions.find(({ version }) => version === wanted);
    if (found && found.blob !== "") return found.blob;
    if (found) throw unusable(initial, `version ${found.version} of ${model} is built in and has no stored parameters`);
    if (versions.length < PAGE_SIZE)
      throw unusable(initial, `the model ${model} has no version${wanted === undefined ? "" : ` ${wanted}`}`);
  }
}

function unusable(initial: Initial, problem: string): AppError {
  const path = `body.initial.${Object.keys(initial)[0]}`;
  const message = `cannot be the initial parameters: ${problem}`;
  return new AppError("VALIDATION_ERROR", `The request is not valid: ${path}: ${message}`, { details: [{ path, message }] });
}
