import type { FeeAmount } from "../../../../common/fees.ts";
import type { Amounts, Fields, ReportedUsage } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";
import { readMediaUsage } from "../shared/media-usage.ts";

/** The usage of a response: its tokens, and what its tools did that OpenAI bills beside them. */
export function readResponseUsage(response: Fields): ReportedUsage | undefined {
  const usage = readMediaUsage({ usage: response["usage"] });
  const amounts = usage && toolAmounts(response);
  return amounts ? { ...usage, amounts: { ...usage.amounts, ...amounts } } : usage;
}

/** The fees of a stream, from its items that are done. */
export class StreamedFees {
  readonly #items: Fields[] = [];
  #tools: unknown;

  /** What was used up to this event, if it adds something. */
  take(type: string, event: Fields): Amounts | undefined {
    if (type === "response.created") this.#tools = asFields(event["response"])["tools"];
    if (type !== "response.output_item.done") return undefined;
    const { type: kind, action, container_id, environment } = asFields(event["item"]);
    if (!/_call$/.test(String(kind)) || kind === "function_call") return undefined;
    this.#items.push({ type: kind, action, container_id, environment });
    return toolAmounts({ output: this.#items, tools: this.#tools });
  }
}

/** Counted from the output, where each use of a tool is an item. */
function toolAmounts({ output, tools }: Fields): Amounts | undefined {
  const counts = new Map<FeeAmount, number>();
  const add = (fee: FeeAmount, count = 1) => counts.set(fee, (counts.get(fee) ?? 0) + count);
  const containers = new Set<unknown>();
  for (const item of asList(output).map(asFields)) {
    const { type } = item;
    if (type === "web_search_call" && isSearch(item)) add(searchFee(tools));
    if (type === "file_search_call") add("fileSearch");
    if (type === "image_generation_call") add("generatedImage");
    if (type === "code_interpreter_call" || (type === "shell_call" && isHosted(item))) containers.add(containerOf(item));
  }
  // A container is a session, however often code runs in it. One that the request names was billed by the call that created it.
  for (const named of asList(tools).map(asFields).flatMap(namedContainers)) containers.delete(named);
  if (containers.size > 0) add("codeSession", containers.size);
  if (counts.size === 0) return undefined;
  return Object.fromEntries([...counts].map(([fee, count]) => [fee, { input: count, output: 0 }]));
}

/** Opening a page that a search found is free. */
function isSearch({ action }: Fields): boolean {
  const { type } = asFields(action);
  return type === undefined || type === "search";
}

/** All containers that the items of a response or a request name: code ran in them. */
export function containersIn(items: unknown): readonly string[] {
  return asList(items)
    .map(asFields)
    .flatMap(({ container_id: container, environment }) => namedContainers({ container, environment }));
}

/** Undefined where the response names none: that is a session, too. */
function containerOf({ container_id: container, environment }: Fields): string | undefined {
  return asText(container) ?? asText(asFields(environment)["container_id"]);
}

/** The code interpreter names an existing container in its own field, the shell in its environment. */
export function namedContainers({ container, environment }: Fields): readonly string[] {
  return [asText(container), asText(asFields(environment)["container_id"])].filter((name) => name !== undefined);
}

function isHosted({ environment }: Fields): boolean {
  return /^container/.test(String(asFields(environment)["type"]));
}

/** A response repeats the tools of its request. */
function searchFee(tools: unknown): FeeAmount {
  return asList(tools).some((tool) => /^web_search_preview/.test(String(asFields(tool)["type"]))) ? "webSearchPreview" : "search";
}
