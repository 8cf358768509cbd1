import type { CountCall, Fields, ProviderTarget } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { geminiBody } from "./request.ts";

const COUNTED = ["contents", "systemInstruction", "tools", "toolConfig"];

/** What countTokens takes of a request, the same at both of Google's doors; a caller's own contents as they came. */
export function countedFields(call: CountCall, target: ProviderTarget): Fields {
  if (call.contents === undefined) return countable(JSON.parse(geminiBody(call, target)) as Fields, COUNTED);
  // A turn that stands for the contents: without any, the system's text would be taken for one.
  const body = { ...call.body, messages: [...call.body.messages, { role: "user", content: "." }] };
  return { ...countable(JSON.parse(geminiBody({ ...call, body }, target)) as Fields, COUNTED), contents: call.contents };
}

export function readTotalTokens(body: unknown): number {
  return readCount(asFields(body)["totalTokens"]);
}
