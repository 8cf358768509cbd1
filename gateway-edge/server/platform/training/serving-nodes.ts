import { AppError } from "../../../../common/errors.ts";
import { FUNCTION_TASK, TRAINED_TYPES } from "../../../../common/training/trained-manifest.ts";
import type { Federation } from "../../../../proto/gen/tributary/training/v1/training.ts";
import { connectHolder, type ServingParticipants } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationCall } from "../../middleware/operation.ts";
import { taskOf } from "./present-training.ts";

/** The fields of a publication that name the nodes that serve it. */
export interface ServingFields {
  readonly servingFederationId: string | undefined;
  readonly servingParticipantIds: string[];
}

const SERVED_HERE: ServingFields = { servingFederationId: undefined, servingParticipantIds: [] };
/** Nodes are asked one by one at the coordinator, each within its own limit. */
const ASK_MS = 15_000;

/**
 * The participants that serve the model of a federation whose task is not built in, or that the caller names. A model that no node can serve
 * is refused, because every call of it would fail.
 */
export async function servingNodes(
  { config }: Pick<EdgeDeps, "config">,
  { federation, servedBy }: { federation: Federation; servedBy: readonly string[] | undefined },
  call: OperationCall,
): Promise<ServingFields> {
  if (servedBy === undefined && isBuiltIn(taskOf(federation))) return SERVED_HERE;
  const asked = await connectHolder(config, federation.holder).servers(federation.id, servedBy, { ...call.read(), deadlineMs: ASK_MS });
  if (asked.servers.length === 0 || (servedBy && asked.cannot.length > 0)) throw notServed(asked);
  return { servingFederationId: federation.id, servingParticipantIds: [...asked.servers] };
}

const isBuiltIn = (task: string): boolean => task !== FUNCTION_TASK && Object.hasOwn(TRAINED_TYPES, task);

const REASONS_SHOWN = 5;

function notServed({ cannot }: ServingParticipants): AppError {
  const reasons = cannot.slice(0, REASONS_SHOWN).map(({ participant, reason }) => `${participant}: ${reason}`);
  const more = cannot.length > REASONS_SHOWN ? `; and ${cannot.length - REASONS_SHOWN} more` : "";
  const why = reasons.length === 0 ? "the federation has no participants" : reasons.join("; ") + more;
  const message = `A model of own functions is served by nodes of its participants with a serve function. ${why}.`;
  return new AppError("VALIDATION_ERROR", message, { details: [{ path: "body.servedBy", message: `cannot serve: ${why}` }] });
}
