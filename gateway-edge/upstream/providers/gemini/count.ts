import type { CountCall, Fields, ProviderTarget } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { geminiBody } from "./request.ts";

const COUNTED = ["contents", "systemInstruction", "tools", "toolConfig"];

/** The fields of a request that countTokens takes, the same for both of Google's APIs; a caller's own contents unchanged. */
export function countedFields(call: CountCall, target: ProviderTarget): Fields {
  if (call.contents === undefined) return countable(JSON.parse(geminiBody(call, target)) as Fields, COUNTED);
  // A placeholder turn for the contents: without any turn, the system text would become one.
  const body = { ...call.body, messages: [...call.body.messages, { role: "user", content: "." }] };
  return { ...countable(JSON.parse(geminiBody({ ...call, body }, target)) as Fields, COUNTED), contents: call.contents };
}

export function readTotalTokens(body: unknown): number {
  return readCount(asFields(body)["totalTokens"]);
}
