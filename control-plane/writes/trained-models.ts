import type { Clock } from "../../common/clock.ts";
import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { Random } from "../../common/random.ts";
import { withShare } from "../domain/traffic.ts";
import type { TrainedModel, TrainedVersion } from "../domain/trained-records.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { addPrice, type PriceInput } from "./catalog.ts";
import { appendChange } from "./feed.ts";

/** A version to be published, with the fields of its model that it sets. */
export interface NewVersion {
  readonly organizationId: string;
  readonly teamId?: string | undefined;
  readonly name: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly visibility?: TrainedModel["visibility"] | undefined;
  readonly allowedOrganizationIds: readonly string[];
  readonly content: Pick<TrainedVersion, "task" | "lineage"> &
    Partial<Pick<TrainedVersion, "blob" | "builtin" | "format" | "createdBy" | "servers">>;
  readonly pricing?: PriceInput | undefined;
  /** Share of the calls; absent: all. */
  readonly percent?: number | undefined;
}

/** The price of a model that is published without one. */
const FREE: PriceInput = { input: 0n, output: 0n };

/** Writes the version, its model, its price and the feed row in the caller's transaction. */
export async function publishVersion(
  tx: Transaction,
  deps: { clock: Clock; random: Random },
  { known, version: given }: { known: TrainedModel | undefined; version: NewVersion },
  now: number,
): Promise<{ model: TrainedModel; version: TrainedVersion }> {
  const number = (known?.latestVersion ?? 0) + 1;
  const traffic = withShare(known?.traffic ?? [], { version: number, percent: given.percent ?? 100 });
  const visibility = given.visibility ?? known?.visibility ?? "organization";
  refuseUnpriced(given, { known, visibility });
  const allowed = visibility === "listed" ? given.allowedOrganizationIds : [];
  const { openName: _before, ...before } = known ?? newModel(given, deps, now);
  const model: TrainedModel = {
    ...before,
    type: given.type,
    description: given.description ?? before.description,
    visibility,
    ...(visibility === "public" ? { openName: given.name } : {}),
    allowedOrganizationIds: allowed.length > 0 || given.visibility === "listed" ? allowed : before.allowedOrganizationIds,
    traffic,
    latestVersion: number,
    updatedAt: now,
  };
  const version: TrainedVersion = { id: `${model.id}/${number}`, modelId: model.id, version: number, ...given.content, createdAt: now };
  await refuseTakenOpenName(tx, model);
  await tx.put("trainedModels", model);
  await tx.insert("trainedVersions", version);
  if (given.pricing || !known) await addPrice(tx, model.id, given.pricing ?? FREE, now);
  await appendChange(tx, { kind: "catalog", subject: model.id }, now);
  return { model, version };
}

/** A model is free for its own organization unless it has a price. Opening it to others without one would give it away unintentionally. */
function refuseUnpriced({ pricing }: NewVersion, { known, visibility }: { known: TrainedModel | undefined; visibility: string }): void {
  if (pricing || visibility === "organization" || (known && known.visibility !== "organization")) return;
  const message = 'is required for a model that other organizations can call; {"input": 0, "output": 0} makes it free';
  throw new AppError("VALIDATION_ERROR", `body.pricing: ${message}`, { details: [{ path: "body.pricing", message }] });
}

/** Changes which versions answer calls, and notifies every edge. */
export async function changeTraffic(
  tx: Transaction,
  model: TrainedModel,
  traffic: TrainedModel["traffic"],
  now: number,
): Promise<TrainedModel> {
  const changed = { ...model, traffic, updatedAt: now };
  await tx.put("trainedModels", changed);
  await appendChange(tx, { kind: "catalog", subject: model.id }, now);
  return changed;
}

function newModel({ name, organizationId, teamId, type }: NewVersion, deps: { clock: Clock; random: Random }, now: number): TrainedModel {
  return {
    id: newId("tm", deps),
    name,
    organizationId,
    ...defined({ teamId }),
    type,
    description: "",
    visibility: "organization",
    allowedOrganizationIds: [],
    traffic: [],
    latestVersion: 0,
    createdAt: now,
    updatedAt: now,
  };
}

/** Names of public models are unique, and an organization cannot publish under one: its members would no longer reach the public model. */
async function refuseTakenOpenName(reader: Reader, model: TrainedModel): Promise<void> {
  const open = await reader.find("trainedModels", "byOpenName", [model.name]);
  if ((open && open.id !== model.id) || (await reader.find("models", "byName", [model.name]))) {
    throw new AppError("ALREADY_EXISTS", `A public model "${model.name}" exists already. Choose another name.`, {
      details: [{ path: "body.model", message: "is taken" }],
    });
  }
}
