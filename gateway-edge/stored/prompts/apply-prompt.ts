import { z } from "zod";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { chatFields } from "../../calls/dialects/responses/request.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import { parseRequest } from "../../schemas/request-body.ts";
import type { PromptTemplate } from "../../schemas/stored/prompts.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { RecordStore } from "../records/records.ts";
import { requirePromptVersion } from "./prompt-records.ts";
import { filledTemplate, type Variables } from "./variables.ts";

export interface PromptDeps {
  readonly records: Pick<RecordStore, "get">;
}

/** A request that has the fields of its prompt; its own fields take precedence. */
export interface PromptedBody {
  readonly body: Fields;
  /** The template's messages, in front of the conversation. They are part of the template, not of the request's input. */
  readonly messages: readonly Fields[];
}

const VARIABLES_MAX = 64;

const variableValue = z.union(
  [z.string(), z.strictObject({ type: z.literal("input_text"), text: z.string() }).transform(({ text }) => text)],
  {
    error: () => "must be a string or an input_text; images and files belong in the input",
  },
);
const reference = z.object({
  prompt: z.strictObject({
    id: z.string().min(1).max(128),
    version: z.string().max(16).nullish(),
    variables: z
      .record(z.string().max(64), variableValue)
      .refine((given) => Object.keys(given).length <= VARIABLES_MAX, `must have at most ${VARIABLES_MAX} variables`)
      .nullish(),
  }),
});

/** Whether a body of chat or responses refers to a prompt. */
export function hasPrompt(body: unknown): body is Fields {
  return typeof body === "object" && body !== null && isObject((body as Fields)["prompt"]);
}

/** The body of /v1/responses with its prompt. The response repeats `prompt` with the version that was used. */
export async function promptedResponse(deps: PromptDeps, caller: Caller, body: Fields): Promise<PromptedBody> {
  const { template, used } = await resolve(deps, caller, body);
  const { messages, ...fields } = template;
  return { body: { ...fields, ...given(body), prompt: used }, messages: asItems(messages) };
}

/** The body of /v1/chat/completions with its prompt, in fields of chat. */
export async function promptedChat(deps: PromptDeps, caller: Caller, body: Fields): Promise<Fields> {
  const { template } = await resolve(deps, caller, body);
  const { messages = [], instructions, max_output_tokens: limit, ...rest } = template;
  const { prompt: _prompt, messages: own, ...request } = given(body);
  const isLimited = request["max_tokens"] !== undefined || request["max_completion_tokens"] !== undefined;
  const before = [...(instructions ? [{ role: "system", content: instructions }] : []), ...(messages ?? [])];
  // Safe: a template's fields are those of a response request.
  const asked = { ...given(rest), ...(isLimited ? {} : { max_output_tokens: limit ?? undefined }) } as unknown as ResponsesRequest;
  return { ...chatFields(asked), ...request, messages: Array.isArray(own) || own === undefined ? [...before, ...(own ?? [])] : own };
}

async function resolve(
  deps: PromptDeps,
  caller: Caller,
  body: Fields,
): Promise<{ template: PromptTemplate; used: { id: string; version: string; variables: Variables | null } }> {
  const { prompt } = parseRequest(reference, { prompt: body["prompt"] });
  const { id, variables } = prompt;
  const { template, version } = await requirePromptVersion(deps, caller, { id, version: prompt.version ?? undefined });
  return { template: filledTemplate(template, variables ?? {}), used: { id, version, variables: variables ?? null } };
}

/** An explicit null means absent. */
function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

function asItems(messages: PromptTemplate["messages"]): readonly Fields[] {
  return (messages ?? []).map((message) => ({ type: "message", ...message }));
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
