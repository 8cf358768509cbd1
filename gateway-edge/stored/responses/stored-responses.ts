import type { Clock } from "../../../common/clock.ts";
import { AppError, type ErrorCode } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { responseId } from "../../calls/dialects/responses/response.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import { containersIn } from "../../upstream/providers/openai-compatible/response-usage.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { noteContainers } from "../containers/own-containers.ts";
import type { Owner, RecordStore, RecordWrite } from "../records/records.ts";
import { BYTES_MAX, bytesOf, type ConversationBody, conversationItems, isFull, itemWrites } from "./conversations.ts";
import type { FullStores } from "./full-stores.ts";
import { isReference } from "./input-items.ts";
import type { EndedEvents } from "./response-events.ts";

/** A stored response and its own input items. The conversation before it is found by its previous_response_id. */
export interface StoredResponse {
  readonly response: Fields;
  readonly input: readonly Fields[];
  readonly work?: ResponseWork;
  /** Of a streamed background response that has ended. */
  readonly events?: EndedEvents;
}

/** A background response that has not ended: what its call is made from. */
export interface ResponseWork {
  /** Without its input. */
  readonly asked: ResponsesRequest;
  /** The messages of its prompt. */
  readonly messages: readonly Fields[];
  /** How often its call was begun. */
  readonly attempts?: number;
}

/** The store of responses. */
export interface StoredResponsesDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
export const RETENTION_MS = 30 * DAY_MS;
const ATTEMPTS = 3;
/** Of concurrent turns of one conversation, one is written in each attempt. */
const TURNS_ATTEMPTS = 40;
const BACK_OFF_MS = 5;
const CHAIN_MAX = 500;
/** Errors that may pass with the next attempt. */
const PASSING: ReadonlySet<ErrorCode> = new Set(["UNAVAILABLE", "DB_TIMEOUT", "SERVER_ERROR"]);

async function findResponse({ records }: StoredResponsesDeps, caller: Caller, id: string): Promise<StoredResponse | undefined> {
  return (await records.get<StoredResponse>(caller.teamId, "response", id))?.body;
}

/** A stored response; throws NOT_FOUND if it does not exist or belongs to another team. */
export async function requireResponse(deps: StoredResponsesDeps, caller: Caller, id: string): Promise<StoredResponse> {
  const found = await findResponse(deps, caller, id);
  if (!found) throw new AppError("NOT_FOUND", `There is no response with the id ${id}.`, { param: "response_id" });
  return found;
}

/** The conversation up to a response, included: input and output of each response in its chain, oldest first. */
export async function conversationUpTo(deps: StoredResponsesDeps, caller: Caller, id: string | undefined): Promise<readonly Fields[]> {
  const links: StoredResponse[] = [];
  let bytes = 0;
  for (let next = id; next !== undefined; next = previousOf(links.at(-1))) {
    if (links.length === CHAIN_MAX) throw notContinued(`The conversation has more than ${CHAIN_MAX} responses. Start a new one.`);
    const link = await findResponse(deps, caller, next);
    if (!link) throw new AppError("NOT_FOUND", `There is no previous response with the id ${next}.`, { param: "previous_response_id" });
    if (link.work) throw notContinued(`The response ${next} has not ended yet. Wait until its status is completed.`);
    bytes += bytesOf(link.input) + bytesOf(outputOf(link.response));
    if (bytes > BYTES_MAX) throw notContinued(`The conversation has more than ${BYTES_MAX / 1024 / 1024} MiB of items. Start a new one.`);
    links.push(link);
  }
  return links.toReversed().flatMap(({ input, response }) => [...input, ...outputOf(response)]);
}

/** Replaces item references by the items. The id of an item contains the id of its response. */
export async function resolveReferences(
  deps: StoredResponsesDeps,
  caller: Caller,
  { items, before }: { items: readonly Fields[]; before: readonly Fields[] },
): Promise<readonly Fields[]> {
  const resolved: Fields[] = [];
  for (const [index, item] of items.entries()) resolved.push(isReference(item) ? await resolve(item, `input[${index}].id`) : item);
  return resolved;

  async function resolve({ id }: Fields, param: string): Promise<Fields> {
    const known = before.find((each) => each["id"] === id);
    const suffix = /^[a-z]+_([0-9a-z]+)_i?\d+$/.exec(String(id))?.[1];
    const owner = known || suffix === undefined ? undefined : await findResponse(deps, caller, responseId(suffix));
    const found = known ?? (owner && [...owner.input, ...outputOf(owner.response)].find((each) => each["id"] === id));
    if (!found) throw new AppError("NOT_FOUND", `There is no item with the id ${String(id).slice(0, 128)}.`, { param });
    return found;
  }
}

/** A turn that has ended. */
export interface EndedTurn extends StoredResponse {
  readonly isStored: boolean;
  readonly conversationId: string | undefined;
}

/**
 * Stores a response and adds its turn to its conversation, in one commit. The call is billed by now, so if the write fails, the caller still
 * gets the response, with `store: false`.
 */
export async function keepResponse(
  deps: StoredResponsesDeps & { readonly full: FullStores },
  owner: Owner,
  turn: EndedTurn,
): Promise<Fields> {
  const { response, input, isStored, conversationId } = turn;
  await noteContainers(deps, owner, containersIn(response["output"]));
  if (!isStored && conversationId === undefined) return response;
  const [id, nowMs] = [String(response["id"]), deps.clock.now()];
  const record = { kind: "response", id, body: { response, input }, createdAtMs: nowMs, expiresAtMs: nowMs + RETENTION_MS } as const;
  const own: RecordWrite[] = isStored ? [{ type: "create", ...record }] : [];
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOf(async () => deps.records.commit(owner, [...own, ...(await turnWrites(deps, owner, turn))]), attempt);
    if (outcome === "stored") return response;
    if (outcome === "changed") await deps.clock.sleep(BACK_OFF_MS * attempt);
    else if (outcome !== "again") {
      deps.full.note(owner.organizationId, outcome.lost);
      deps.logger.warn({ id, error: String(outcome.lost) }, "a response could not be stored");
      return { ...response, store: false };
    }
  }
}

async function attemptOf(commit: () => Promise<unknown>, attempt: number): Promise<"stored" | "again" | "changed" | { lost: unknown }> {
  try {
    await commit();
    return "stored";
  } catch (thrown) {
    const code = thrown instanceof AppError ? thrown.code : undefined;
    // An earlier attempt succeeded, and only its response was lost.
    if (attempt > 1 && code === "ALREADY_EXISTS") return "stored";
    if (attempt < ATTEMPTS && (code === undefined || PASSING.has(code))) return "again";
    return attempt < TURNS_ATTEMPTS && code === "RECORD_CHANGED" ? "changed" : { lost: thrown };
  }
}

const ADDED_STATES: readonly unknown[] = ["completed", "incomplete"];

/** The writes that add a turn to its conversation; none for a turn that failed, and if the conversation was deleted or filled meanwhile. */
export async function turnWrites(
  { records, clock }: Pick<StoredResponsesDeps, "records" | "clock">,
  { teamId }: Owner,
  { response, input, conversationId }: Pick<EndedTurn, "response" | "input" | "conversationId">,
): Promise<RecordWrite[]> {
  if (conversationId === undefined || !ADDED_STATES.includes(response["status"])) return [];
  const conversation = await records.get<ConversationBody>(teamId, "conversation", conversationId);
  if (!conversation || isFull(conversation.body)) return [];
  const suffix = String(response["id"]).replace(/^resp_/, "");
  return itemWrites(conversation, conversationItems({ input, output: outputOf(response) }, suffix), clock.now());
}

function previousOf(stored: StoredResponse | undefined): string | undefined {
  const previous = stored?.response["previous_response_id"];
  return typeof previous === "string" ? previous : undefined;
}

function outputOf(response: Fields): readonly Fields[] {
  return Array.isArray(response["output"]) ? (response["output"] as Fields[]) : [];
}

function notContinued(message: string): AppError {
  return new AppError("INVALID_REQUEST", message, { param: "previous_response_id" });
}
