import { type Fields, fieldsOf, listOf } from "./said.ts";

/** A chat request as a request of Anthropic's Messages API. */
export function asMessages(ask: Fields): Fields {
  const { max_tokens: limit, max_completion_tokens: otherLimit, tools, tool_choice: choice, temperature, top_p, stop, thinking } = ask;
  const messages = listOf(ask["messages"]);
  const isSystem = ({ role }: Fields) => role === "system" || role === "developer";
  const system = messages.filter(isSystem).map(({ content }) => textOf(content));
  return present({
    max_tokens: limit ?? otherLimit ?? 32_000,
    system: system.length > 0 ? system.join("\n\n") : undefined,
    messages: messages.filter((message) => !isSystem(message)).map(messageOf),
    tools: listOf(tools).flatMap(toolOf),
    tool_choice: listOf(tools).length > 0 ? choiceOf(choice) : undefined,
    temperature: typeof temperature === "number" ? Math.min(1, temperature) : undefined,
    top_p,
    stop_sequences: typeof stop === "string" ? [stop] : stop,
    // Others have fields of the same name.
    thinking: fieldsOf(thinking)["type"] === undefined ? undefined : thinking,
  });
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

function textOf(content: unknown): string {
  return typeof content === "string"
    ? content
    : listOf(content)
        .map(({ text }) => (typeof text === "string" ? text : ""))
        .join("");
}

function messageOf(message: Fields): Fields {
  const { role, content, tool_calls: calls, tool_call_id: id } = message;
  if (role === "tool") return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: textOf(content) }] };
  const uses = listOf(calls).map((call) => {
    const { name, arguments: json } = fieldsOf(call["function"]);
    return { type: "tool_use", id: call["id"], name, input: parsed(json) };
  });
  const blocks = typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : listOf(content).map(blockOf);
  return { role, content: [...blocks, ...uses] };
}

function blockOf(part: Fields): Fields {
  const url = String(fieldsOf(part["image_url"])["url"] ?? part["image_url"] ?? "");
  const [, media_type, data] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
  if (part["type"] !== "image_url") return { type: "text", text: textOf([part]) || "(media)" };
  return { type: "image", source: data === undefined ? { type: "url", url } : { type: "base64", media_type, data } };
}

function parsed(json: unknown): unknown {
  try {
    return JSON.parse(String(json));
  } catch {
    return {};
  }
}

function toolOf(tool: Fields): Fields[] {
  const { name, description, parameters } = fieldsOf(tool["function"]);
  return tool["type"] === "function" ? [present({ name, description, input_schema: parameters ?? { type: "object" } })] : [];
}

function choiceOf(choice: unknown): Fields | undefined {
  if (choice === "required") return { type: "any" };
  if (choice === "auto" || choice === "none") return { type: choice };
  const name = fieldsOf(fieldsOf(choice)["function"])["name"];
  return name === undefined ? undefined : { type: "tool", name };
}

/** A chat request as a request of OpenAI's Responses API. */
export function asResponses(ask: Fields): Fields {
  const { max_tokens: limit, max_completion_tokens: otherLimit, tools, tool_choice: choice, temperature, top_p } = ask;
  const name = fieldsOf(fieldsOf(choice)["function"])["name"];
  return present({
    input: listOf(ask["messages"]).flatMap(itemsOf),
    max_output_tokens: limit ?? otherLimit,
    tools: listOf(tools).flatMap((tool) => (tool["type"] === "function" ? [{ type: "function", ...fieldsOf(tool["function"]) }] : [])),
    tool_choice: name === undefined ? choice : { type: "function", name },
    temperature,
    top_p,
    store: false,
  });
}

function itemsOf({ role, content, tool_calls: calls, tool_call_id: id }: Fields): Fields[] {
  if (role === "tool") return [{ type: "function_call_output", call_id: id, output: textOf(content) }];
  const isAssistant = role === "assistant";
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  const items = parts.map((part) => {
    if (part["type"] === "image_url") return { type: "input_image", image_url: fieldsOf(part["image_url"])["url"] ?? part["image_url"] };
    return { type: isAssistant ? "output_text" : "input_text", text: textOf([part]) || "(media)" };
  });
  const said = isAssistant && textOf(content) === "" ? [] : [{ type: "message", role, content: items }];
  const called = listOf(calls).map((call) => ({ type: "function_call", call_id: call["id"], ...fieldsOf(call["function"]) }));
  return [...said, ...called];
}
