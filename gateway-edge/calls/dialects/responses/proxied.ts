import { defined } from "../../../../common/defined.ts";
import type { ResponsesRequest } from "../../../schemas/calls/responses.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { shortId } from "../../../upstream/providers/shared/short-ids.ts";
import { conversationField, type ResponseIdentity, responseId, SEALED } from "./response.ts";
import { isOwnSeal } from "./seal.ts";

/** The body for a server that has this API: the request with the whole conversation, because nothing is stored there. */
export function proxiedBody(asked: ResponsesRequest, items: readonly Fields[], { reasons }: { reasons: boolean }): Fields {
  const { input, previous_response_id: previous, include = [], metadata: _metadata, background: _background, ...rest } = asked;
  const { prompt: _prompt, conversation: _conversation, store: _store, stream: _stream, max_output_tokens: _limit, ...sent } = rest;
  const isPlain = typeof input === "string" && previous === undefined && items.length === 1;
  // Reasoning is not stored at the provider, so it must be returned encrypted for the next turn.
  const wanted = [...new Set([...include, ...(reasons ? [SEALED] : [])])];
  return defined({ ...sent, input: isPlain ? input : items.flatMap(sentItem), include: wanted.length > 0 ? wanted : undefined });
}

function sentItem(item: Fields): Fields[] {
  const { id, ...anonymous } = item;
  if (item["type"] === "reasoning") {
    const sealed = asText(item["encrypted_content"]);
    // This provider cannot decrypt another provider's reasoning, and ids of reasoning items belong to its own store.
    return sealed === undefined || isOwnSeal(sealed) ? [] : [anonymous];
  }
  // Ids that the gateway gave to input items are unknown to the provider.
  return [withShortCallId(/_i\d+$/.test(String(id)) ? anonymous : item)];
}

/** OpenAI refuses longer ones. */
const CALL_ID_CHARACTERS_MAX = 64;

function withShortCallId(item: Fields): Fields {
  const id = item["call_id"];
  return typeof id === "string" && id.length > CALL_ID_CHARACTERS_MAX ? { ...item, call_id: shortId(id, CALL_ID_CHARACTERS_MAX) } : item;
}

/** Ids of items that name their response. The provider's prefix stays: it is part of the id's meaning. */
export class ItemNames {
  readonly #suffix: string;
  readonly #names = new Map<string, string>();

  constructor(suffix: string) {
    this.#suffix = suffix;
  }

  of(id: unknown): string {
    const key = String(id);
    const name = this.#names.get(key) ?? `${/^[a-z]+(?=_)/.exec(key)?.[0] ?? "item"}_${this.#suffix}_${this.#names.size}`;
    this.#names.set(key, name);
    return name;
  }

  item(value: unknown): Fields {
    const item = asFields(value);
    return { ...item, id: this.of(item["id"]) };
  }
}

/** A provider's response under the gateway's id. Fields that the gateway changed for the provider are shown as the caller sent them. */
export function proxiedResponse({ suffix, model, request }: ResponseIdentity, response: Fields, names: ItemNames): Fields {
  return {
    ...response,
    id: responseId(suffix),
    model,
    background: request.background ?? false,
    store: request.store ?? true,
    previous_response_id: request.previous_response_id ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    ...(request.prompt && { prompt: request.prompt }),
    ...conversationField(request),
    output: asList(response["output"]).map((item) => names.item(item)),
  };
}
