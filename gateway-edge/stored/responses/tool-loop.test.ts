import { systemClock } from "../../../common/clock.ts";
import { nanoUsd } from "../../../common/money.ts";
import { systemRandom } from "../../../common/random.ts";
import type { InferenceCall, InferenceResult } from "../../calls/inference/run-inference.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import { type LoopedAnswer, loopedCall } from "./tool-loop.ts";
import type { GatewayTool } from "./tools/gateway-tool.ts";

type Round = (call: InferenceCall<ChatAnswer>) => Promise<InferenceResult<ChatAnswer>> | InferenceResult<ChatAnswer>;

const HEAD = { model: "m", deploymentId: "d", rate: undefined, retries: 0, fallbacks: 0, overheadMs: () => 0 };

/** A loop over these rounds; the last one again and again. */
function looped(rounds: readonly Round[], { asked = {}, tools = [], listed = [] }: Given = {}) {
  const calls: InferenceCall<ChatAnswer>[] = [];
  const run = async (call: InferenceCall<ChatAnswer>) => {
    calls.push(call);
    return await (rounds[calls.length - 1] ?? (rounds.at(-1) as Round))(call);
  };
  const open = {
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    listed,
    asked: { model: "m", input: "x", tools: tools.map(({ offered }) => offered), ...asked } as ResponsesRequest,
  };
  const deps = { inference: { run } as unknown as Parameters<typeof loopedCall>[0]["inference"], clock: systemClock, random: systemRandom };
  const call = { callId: "call_1", endpoint: "/v1/responses", caller: {}, routing: {}, signal: new AbortController().signal };
  const start = (): Promise<InferenceResult<LoopedAnswer>> => loopedCall(deps, open, [{ role: "user", content: "x" }])(call as unknown as InferenceCall<unknown>);
  return { calls, start };
}

interface Given {
  readonly asked?: Fields;
  readonly tools?: readonly GatewayTool[];
  readonly listed?: readonly Fields[];
}

test("a client that leaves at the first part of a stream ends the round that is open, also if that part is a list of tools", async () => {
  let settled = "";
  const streamed = async function* () {
    try {
      yield { type: "text-delta" as const, choice: 0, text: "hi" };
      settled = "success";
      yield { type: "settled" as const, bill: { usage: NO_USAGE, cost: nanoUsd(0n) } };
    } finally {
      settled ||= "cancelled";
    }
  };
  const { start } = looped([() => ({ type: "stream", head: HEAD, contentType: undefined, parts: streamed() })], {
    asked: { stream: true },
    listed: [{ type: "mcp_list_tools" }],
  });
  const result = await start();
  if (result.type !== "stream") throw new Error("a stream was asked for");
  for await (const part of result.parts) {
    expect(part.type).toBe("other-delta");
    break;
  }
  expect(settled).toBe("cancelled");
});
