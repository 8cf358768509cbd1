import { AppError } from "../../../../common/errors.ts";
import { FUNCTION_TASK, TRAINED_TYPES } from "../../../../common/training/trained-manifest.ts";
import { connectCoordinator, type Servable } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { DEADLINE_MS, type OperationCall } from "../../middleware/operation.ts";
import { servableOnNode } from "./own-blob.ts";

/** Parameters that are to be published; `path` is the field of the request that names them. */
interface Published {
  readonly blob: string;
  readonly task: string;
  readonly path: string;
}

/**
 * Refuses a blob that no node could serve as a model of the task: its calls would all fail. The coordinator looks at the bytes, or else a
 * shared node that has them.
 */
export async function requireServableBlob(
  { control, config }: EdgeDeps,
  { path, ...asked }: Published,
  call: OperationCall,
): Promise<void> {
  const blob = asked.blob.toLowerCase();
  if (!isBuiltIn(asked.task) || !/^[0-9a-f]{64}$/.test(blob)) return;
  const options = call.read(DEADLINE_MS.verify);
  const found = await connectCoordinator(config)
    .servable(blob, asked.task, options)
    .catch((thrown: unknown) => thrown);
  if (isServable(found)) return refuse(found, { ...asked, path });
  const caller = await control.training.findBlob({ blob }, call.read());
  const tenant = caller.isOperator ? "" : caller.organizationId;
  const looks = await Promise.allSettled(caller.nodes.map((node) => servableOnNode(node, { blob, task: asked.task, tenant })));
  for (const look of looks) if (look.status === "fulfilled" && look.value) return refuse(look.value, { ...asked, path });
}

/** Refuses the problem that was found in parameters, if there is one. */
export function refuse({ problem }: Servable, { task, path }: Omit<Published, "blob">): void {
  if (problem === null) return;
  const message = `cannot be the parameters of a ${task} model: ${problem}`;
  throw new AppError("VALIDATION_ERROR", `The request is not valid: ${path}: ${message}`, { details: [{ path, message }] });
}

/** A built-in task; other names are the control plane's to refuse, and only participants can look at parameters of own functions. */
export const isBuiltIn = (task: string): boolean => task !== FUNCTION_TASK && Object.hasOwn(TRAINED_TYPES, task);

const isServable = (found: unknown): found is Servable => typeof found === "object" && found !== null && "problem" in found;
