import { AppError, type ErrorCode } from "../../../../common/errors.ts";
import type { Logger } from "../../../../common/logger.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { responseId } from "../../../calls/dialects/responses/response.ts";
import type { Owner, RecordStore } from "../../../stored/records/records.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";

/** A stored response and its own input items. The conversation before it is found by its previous_response_id. */
export interface StoredResponse {
  readonly response: Fields;
  readonly input: readonly Fields[];
}

/** The store of responses. */
export interface StoredResponsesDeps {
  readonly records: RecordStore;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;
const ATTEMPTS = 3;
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
  for (let next = id; next !== undefined; next = previousOf(links.at(-1))) {
    if (links.length === CHAIN_MAX) throw notContinued(`The conversation has more than ${CHAIN_MAX} responses. Start a new one.`);
    const link = await findResponse(deps, caller, next);
    if (!link) throw new AppError("NOT_FOUND", `There is no previous response with the id ${next}.`, { param: "previous_response_id" });
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

/** The input with an id for each item, as it is stored and listed. */
export function namedInput(items: readonly Fields[], suffix: string): readonly Fields[] {
  return items.map((item, index) => {
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    const prefix = PREFIXES[type] ?? "item";
    return { ...item, type, id: typeof item["id"] === "string" ? item["id"] : `${prefix}_${suffix}_i${index}` };
  });
}

const PREFIXES: Readonly<Record<string, string>> = { message: "msg", function_call: "fc", function_call_output: "fco", reasoning: "rs" };

/** Stores a response. The call is billed by now, so if the write fails, the caller still gets the response, with `store: false`. */
export async function storeResponse(deps: StoredResponsesDeps, owner: Owner, stored: StoredResponse & { nowMs: number }): Promise<Fields> {
  const { response, input, nowMs } = stored;
  const id = String(response["id"]);
  const write = {
    type: "create",
    id,
    kind: "response",
    body: { response, input },
    createdAtMs: nowMs,
    expiresAtMs: nowMs + RETENTION_MS,
  } as const;
  for (let attempt = 1; ; attempt++) {
    try {
      await deps.records.commit(owner, [write]);
      return response;
    } catch (thrown) {
      const code = thrown instanceof AppError ? thrown.code : undefined;
      // An earlier attempt succeeded, and only its response was lost.
      if (attempt > 1 && code === "ALREADY_EXISTS") return response;
      if (attempt < ATTEMPTS && (code === undefined || PASSING.has(code))) continue;
      deps.logger.warn({ id, error: String(thrown) }, "a response could not be stored");
      return { ...response, store: false };
    }
  }
}

function isReference({ type, role, content, id }: Fields): boolean {
  // Clients may omit the type of a reference.
  return type === "item_reference" || (type === undefined && role === undefined && content === undefined && typeof id === "string");
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
