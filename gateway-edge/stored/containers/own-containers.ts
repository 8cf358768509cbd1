import { createHash } from "node:crypto";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { containersIn } from "../../upstream/providers/openai-compatible/response-usage.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields, asText } from "../../upstream/providers/shared/json-fields.ts";
import type { Owner, RecordStore } from "../records/records.ts";

export interface ContainersDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A container that a request names, and the field that names it. */
export interface NamedContainer {
  readonly id: string;
  readonly param: string;
}

/** Providers keep containers for at most so long. */
const LIFE_MS = 30 * 86_400_000;
/** More containers in one answer are not recorded: a provider uses one or two. */
const CONTAINERS_MAX = 32;

/**
 * Containers in which a provider runs code belong to its account, which all tenants of the gateway share: a request may name only those that
 * answers to its own team had. Throws NOT_FOUND for others.
 */
export async function requireContainers(
  { records }: Pick<ContainersDeps, "records">,
  { teamId }: Caller,
  named: readonly NamedContainer[],
): Promise<void> {
  for (const each of new Map(named.map((container) => [container.id, container])).values()) {
    if (!(await records.get(teamId, "container", recordId(each.id)))) throw noContainer(each);
  }
}

/**
 * Refuses a container that another team's answers had. One that no answer had, such as from before this gateway, is the caller's from now on:
 * messages continue where they were begun elsewhere.
 */
export async function claimContainer(
  { records, clock }: Omit<ContainersDeps, "logger">,
  owner: Owner,
  named: NamedContainer,
): Promise<void> {
  if (await records.get(owner.teamId, "container", recordId(named.id))) return;
  try {
    await records.commit(owner, [creationOf(named.id, clock)]);
  } catch (thrown) {
    throw isKnown(thrown) ? noContainer(named) : thrown;
  }
}

/**
 * The same for stored items: those of before containers belonged to teams may name any. One that is not recorded any more is the team's own or
 * has ended, so the conversation can be continued.
 */
export async function claimStoredContainers(
  deps: Omit<ContainersDeps, "logger">,
  owner: Owner,
  { items, param }: { items: readonly Fields[]; param: string },
): Promise<void> {
  await Promise.all([...new Set(containersIn(items))].map((id) => claimContainer(deps, owner, { id, param })));
}

/** The containers that items of a request name. `at`: the field of the request that has the items. */
export function containersOfItems(items: readonly Fields[], at: string): NamedContainer[] {
  return items.flatMap((item, index) => containersIn([item]).map((id) => ({ id, param: `${at}[${index}]` })));
}

/** Records the containers of an answer before the caller gets it. One that cannot be recorded cannot be named later; the answer is paid for. */
export async function noteContainers({ records, clock, logger }: ContainersDeps, owner: Owner, ids: readonly string[]): Promise<void> {
  for (const id of [...new Set(ids)].slice(0, CONTAINERS_MAX)) {
    try {
      await records.commit(owner, [creationOf(id, clock)]);
    } catch (thrown) {
      if (!isKnown(thrown)) logger.warn({ error: String(thrown) }, "a container could not be recorded");
    }
  }
}

/** The container of a request or an answer of the Messages API: its id, or an object with it. */
export function containerOfMessage({ container }: Fields): string | undefined {
  return asText(container) || asText(asFields(container)["id"]) || undefined;
}

/** The container that an event of a streamed message names: its start or its last change. */
export function containerOfEvent({ type, fields }: { type: string; fields: Fields }): string | undefined {
  const part = type === "message_start" ? fields["message"] : type === "message_delta" ? fields["delta"] : undefined;
  return part === undefined ? undefined : containerOfMessage(asFields(part));
}

function creationOf(id: string, clock: Clock) {
  const createdAtMs = clock.now();
  return { type: "create", kind: "container", id: recordId(id), body: {}, createdAtMs, expiresAtMs: createdAtMs + LIFE_MS } as const;
}

/** Whether the container is recorded already, of this team or another. */
function isKnown(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.code === "ALREADY_EXISTS";
}

function noContainer({ id, param }: NamedContainer): AppError {
  return new AppError("NOT_FOUND", `There is no container with the id ${id.slice(0, 128)}.`, { param });
}

/** Records have one space of ids, and a provider may choose any. */
function recordId(id: string): string {
  return `container.${createHash("sha256").update(id).digest("base64url")}`;
}
