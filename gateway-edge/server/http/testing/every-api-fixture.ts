import type { UpstreamResponse } from "../../../upstream/providers/provider.ts";

/** A provider's answer that is "ok" in each of the APIs, with so many tokens. */
export function answerOfEveryApi({ input, output }: { input: number; output: number }): UpstreamResponse {
  const text = { type: "output_text", text: "ok" };
  const answer = {
    ...{ id: "resp_1", object: "response", status: "completed", role: "assistant", type: "message", stop_reason: "end_turn" },
    output: [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [text] }],
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, text: "ok", finish_reason: "stop" }],
    content: [{ type: "text", text: "ok" }],
    usage: { prompt_tokens: input, completion_tokens: output, input_tokens: input, output_tokens: output },
  };
  return {
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from(JSON.stringify(answer));
    })(),
  };
}
