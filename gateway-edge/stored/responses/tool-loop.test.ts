import { systemClock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { nanoUsd } from "../../../common/money.ts";
import { systemRandom } from "../../../common/random.ts";
import type { InferenceCall, InferenceResult } from "../../calls/inference/inference-call.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import { type LoopedAnswer, loopedCall } from "./tool-loop.ts";
import type { GatewayTool } from "./tools/gateway-tool.ts";

type Round = (call: InferenceCall<ChatAnswer>) => Promise<InferenceResult<ChatAnswer>> | InferenceResult<ChatAnswer>;

const HEAD = { model: "m", deploymentId: "d", rate: undefined, retries: 0, fallbacks: 0, overheadMs: () => 0 };

/** A loop over these rounds; the last one again and again. */
function looped(rounds: readonly Round[], { asked = {}, tools = [], listed = [], onceFor }: Given = {}) {
  const slept: number[] = [];
  const clock = { ...systemClock, sleep: async (milliseconds: number) => void slept.push(milliseconds) };
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
  const deps = { inference: { run } as unknown as Parameters<typeof loopedCall>[0]["inference"], clock, random: systemRandom };
  const call = { callId: "call_1", endpoint: "/v1/responses", caller: {}, routing: {}, signal: new AbortController().signal, onceFor };
  const start = (): Promise<InferenceResult<LoopedAnswer>> =>
    loopedCall(deps, open, [{ role: "user", content: "x" }])(call as unknown as InferenceCall<unknown>);
  return { calls, slept, start };
}

interface Given {
  readonly asked?: Fields;
  readonly tools?: readonly GatewayTool[];
  readonly listed?: readonly Fields[];
  readonly onceFor?: string;
}

const BILL = { usage: { ...NO_USAGE, output: 5 }, cost: nanoUsd(1n) };
const whole = (message: Fields, finishReason = "stop"): Round => {
  const answer = { choices: [{ index: 0, message: { role: "assistant", ...message }, finishReason }] } as unknown as ChatAnswer;
  return () => ({ type: "answer", head: HEAD, answer, bill: BILL });
};
const called = (count = 1) => {
  const tool_calls = Array.from({ length: count }, (_, index) => ({ index, id: `c${index}`, function: { name: "look", arguments: "{}" } }));
  return whole({ content: null, tool_calls }, "tool_calls");
};
const away = (): never => {
  throw new AppError("UNAVAILABLE", "The control plane does not answer.");
};

function tool(run: GatewayTool["run"]): GatewayTool {
  return { name: "look", offered: { type: "function", name: "look" }, isChosenBy: () => false, run };
}

test("a late round that fails for a moment is made again alone: no tool runs twice, and every attempt has its own id", async () => {
  let ran = 0;
  const look = tool(async () => ({ item: { type: "mcp_call", number: ++ran }, output: "seen" }));
  const { start, calls, slept } = looped([called(), away, away, whole({ content: "done" })], { tools: [look] });
  expect(await start()).toMatchObject({ answer: { pieces: [{ item: { number: 1 } }, { text: "done" }] }, bill: { cost: 2n } });
  expect([ran, slept, new Set(calls.map(({ callId }) => callId)).size]).toEqual([1, [500, 1000], 4]);
  const lasting = looped([called(), away], { tools: [look] });
  await expect(lasting.start()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(lasting.calls).toHaveLength(4);
});

test("a first round that fails is made again only for background work, under one key; other errors are not repeated", async () => {
  const waiting = looped([away, whole({ content: "done" })]);
  await expect(waiting.start()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const background = looped([away, away, away, away, whole({ content: "done" })], { onceFor: "resp_1/0" });
  expect(await background.start()).toMatchObject({ answer: { pieces: [{ text: "done" }] } });
  expect(new Set(background.calls.map(({ onceFor }) => onceFor))).toEqual(new Set(["resp_1/0.0"]));
  const refuse = (): never => {
    throw new AppError("QUOTA_EXCEEDED", "No credit.");
  };
  const refused = looped([refuse], { onceFor: "resp_1/0" });
  await expect(refused.start()).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect([waiting.calls.length, refused.calls.length]).toEqual([1, 1]);
});

test("of the tools of a round at most four run at once, and their results keep their order", async () => {
  let [running, most, ran] = [0, 0, 0];
  const look = tool(async () => {
    const number = ran++;
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return { item: { type: "mcp_call", number }, output: "seen" };
  });
  const result = await looped([called(9), whole({ content: "done" })], { tools: [look] }).start();
  const items = Array.from({ length: 9 }, (_, number) => ({ item: { number } }));
  expect([result, most]).toMatchObject([{ answer: { pieces: [...items, { text: "done" }] } }, 4]);
});

test("after a tool that ends the response no further tool is begun", async () => {
  let ran = 0;
  const look = tool(async () => {
    ran++;
    throw new AppError("QUOTA_EXCEEDED", "No credit.");
  });
  await expect(looped([called(9)], { tools: [look] }).start()).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(ran).toBeLessThanOrEqual(4);
});

/** What the calls asked their model for. */
const requestsOf = (calls: readonly InferenceCall<ChatAnswer>[]) => calls.map(({ job }) => job.traits?.().request as Fields);

test("a list of allowed tools holds in every round; that one is required, only in the first", async () => {
  const look = tool(async () => ({ item: { type: "mcp_call" }, output: "seen" }));
  const allowed = { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "look" }] };
  const asked = { tools: [look.offered, { type: "function", name: "other" }], tool_choice: allowed };
  const { start, calls } = looped([called(), called(), whole({ content: "done" })], { tools: [look], asked });
  await start();
  const offered = [{ type: "function", function: { name: "look" } }];
  expect(requestsOf(calls)).toMatchObject(["required", "auto", "auto"].map((tool_choice) => ({ tool_choice, tools: offered })));
});

test("the limit of output is for all rounds together: a response that reached it is cut off", async () => {
  const look = tool(async () => ({ item: { type: "mcp_call" }, output: "seen" }));
  const { start, calls } = looped([called()], { tools: [look], asked: { max_output_tokens: 12 } });
  expect(await start()).toMatchObject({ answer: { pieces: [{ type: "item" }, { type: "item" }], finishReason: "length" } });
  expect(requestsOf(calls).map((request) => request["max_completion_tokens"] ?? request["max_tokens"])).toEqual([12, 7, 2]);
});

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
