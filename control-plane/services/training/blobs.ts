import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { privacyRules } from "../../../common/training/privacy-rules.ts";
import type { RoundRecord } from "../../../common/training/round-record.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation, TrainingRound } from "../../domain/training-records.ts";
import type { Reader } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";
import { isPlatformAdmin, requireTrainingActor } from "./access.ts";
import { operatorNodes, sharedNodes } from "./shared-nodes.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Tells edges what an organization's federations and models say about a blob. Who uploaded it is known where it is stored. */
export function trainingBlobHandlers(deps: ControlDeps): Pick<Handlers, "findBlob"> {
  return {
    async findBlob({ blob }, context) {
      const actor = await requireTrainingActor(deps, context);
      const { organizationId } = actor;
      const isOperator = isPlatformAdmin(actor);
      const { token } = deps.config.serving;
      const nodes = (isOperator ? operatorNodes : sharedNodes)(deps.config);
      return {
        organizationId,
        isOperator,
        isFederations: blob !== "" && (await isMadeFor(deps.store, organizationId, blob)),
        publishedAs: blob === "" ? "" : await publishedAs(deps.store, organizationId, blob),
        nodes: nodes.map(({ id, url }) => ({ id, url, token })),
      };
    },
  };
}

/** Newest rounds that are searched for what a participant may read. Its work names the results of the last ones. */
const ROUNDS_MAX = 200;

/**
 * Whether the blob is a result of the federation or an update of this participant. With central noise it is no update: the creator of the
 * federation has the join tokens, too.
 */
export async function isParticipants(
  reader: Reader,
  { federationId, participantId, blob }: { federationId: string; participantId: string; blob: string },
): Promise<boolean> {
  const isHidden = hides(await reader.get("federations", federationId));
  const isMine = ({ participants }: TrainingRound) =>
    !isHidden && participants.some((one) => one.participantId === participantId && one.updateBlob === blob);
  return isInRounds(reader, { federationId, limit: ROUNDS_MAX }, (round) => round.resultBlob === blob || isMine(round));
}

async function isMadeFor(reader: Reader, organizationId: string, blob: string): Promise<boolean> {
  for await (const federation of reader.scan("federations", { index: "byOrganization", equals: [organizationId], reverse: true })) {
    const { id, head } = federation;
    const named = hides(federation) ? isResultOf : isNamedIn;
    if (head.blob === blob || head.stateBlob === blob) return true;
    if (await isInRounds(reader, { federationId: id }, (round) => named(round, blob))) return true;
  }
  return false;
}

async function isInRounds(
  reader: Reader,
  { federationId, ...page }: { federationId: string; limit?: number },
  test: (round: TrainingRound) => boolean,
): Promise<boolean> {
  for await (const round of reader.scan("trainingRounds", { index: "byFederation", equals: [federationId], reverse: true, ...page })) {
    if (test(round)) return true;
  }
  return false;
}

function isNamedIn(round: TrainingRound, blob: string): boolean {
  return isResultOf(round, blob) || round.participants.some(({ updateBlob }) => updateBlob === blob);
}

/** Whether the round was made of the blob and is of no single participant, or made it. */
function isResultOf({ resultBlob, record }: TrainingRound, blob: string): boolean {
  if (resultBlob === blob) return true;
  const { base, state } = (record === "" ? {} : JSON.parse(record)) as Partial<RoundRecord>;
  return base === blob || state === blob;
}

/** Whether the federation's updates are for coordinators alone. */
const hides = (federation: Federation | undefined): boolean =>
  federation !== undefined && privacyRules(JSON.parse(federation.settings) as PrivacySettings).hidesUpdates;

type PrivacySettings = Parameters<typeof privacyRules>[0];

async function publishedAs(reader: Reader, organizationId: string, blob: string): Promise<string> {
  for await (const { id, name } of reader.scan("trainedModels", { index: "byOrganization", equals: [organizationId] })) {
    for await (const version of reader.scan("trainedVersions", { index: "byModel", equals: [id] })) {
      if (version.blob === blob) return name;
    }
  }
  return "";
}
