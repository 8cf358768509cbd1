import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import { innerProblem } from "../../../common/training/inner-settings.ts";
import type { CreateFederationRequest } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Reader } from "../../stores/store.ts";
import { invalidInner } from "../../writes/inner-federations.ts";
import { requireManager, requireVisible, type TrainingActor } from "./access.ts";

/** The ids of the federations that a request names as participants. The principal must manage each, because their rounds cost their budget. */
export async function requireInnerFederations(
  reader: Reader,
  { actor, request }: { actor: TrainingActor; request: CreateFederationRequest },
): Promise<string[]> {
  const ids: string[] = [];
  const settings = JSON.parse(request.settings) as FederationSettings;
  for (const [index, { inner }] of request.participants.entries()) {
    if (!inner) continue;
    const found = await reader.get("federations", inner.federationId);
    const { found: federation, role } = await requireVisible(reader, { actor, found, what: "federation" });
    requireManager(role);
    const { initial } = settings;
    if (initial && "participant" in initial && initial.participant === index)
      throw invalidInner(index, "cannot give the initial parameters");
    const problem = innerProblem(settings, JSON.parse(federation.settings) as FederationSettings);
    if (problem !== undefined) throw invalidInner(index, problem);
    if (ids.includes(inner.federationId)) throw invalidInner(index, "is named twice");
    ids.push(inner.federationId);
  }
  return ids;
}
