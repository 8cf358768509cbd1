import type {
  TrainedModel as TrainedModelMessage,
  TrainedVersion as TrainedVersionMessage,
} from "../../../proto/gen/tributary/training/v1/trained_models.ts";
import { priceAt } from "../../domain/pricing.ts";
import type { TrainedModel, TrainedVersion } from "../../domain/trained-records.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import { pricingMessage } from "../catalog/messages.ts";
import { date } from "../messages.ts";

export async function trainedModelMessage(reader: Reader, model: TrainedModel, now: number): Promise<TrainedModelMessage> {
  const prices = await collect(reader.scan("prices", { index: "byModel", equals: [model.id] }));
  const { id, name, organizationId, teamId, type, description, visibility, latestVersion } = model;
  return {
    ...{ id, name, organizationId, teamId, type, description, visibility, latestVersion },
    allowedOrganizationIds: [...model.allowedOrganizationIds],
    traffic: model.traffic.map(({ version, percent }) => ({ version, percent })),
    pricing: pricingMessage(priceAt(prices, now)),
    createdAt: date(model.createdAt),
    updatedAt: date(model.updatedAt),
  };
}

export function trainedVersionMessage(model: TrainedModel, version: TrainedVersion): TrainedVersionMessage {
  return {
    modelId: model.id,
    version: version.version,
    blob: version.blob ?? "",
    format: version.format,
    taskJson: version.task,
    lineageJson: version.lineage,
    percent: model.traffic.find((share) => share.version === version.version)?.percent ?? 0,
    createdBy: BigInt(version.createdBy ?? 0),
    createdAt: date(version.createdAt),
    servingParticipantIds: [...(version.servers?.participantIds ?? [])],
  };
}

/** The fields of a lineage that lists show. A field of an unexpected type is left out, because a lineage is free-form. */
export function lineageFacts(lineage: string) {
  const { federationId, round, participants, accuracy } = JSON.parse(lineage) as Record<string, unknown>;
  const count = Array.isArray(participants) ? participants.length : participants;
  return {
    federationId: typeof federationId === "string" ? federationId : undefined,
    round: isCount(round) ? round : undefined,
    participants: isCount(count) ? count : undefined,
    accuracy: typeof accuracy === "number" && Number.isFinite(accuracy) ? accuracy : undefined,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0x7fff_ffff;
}
