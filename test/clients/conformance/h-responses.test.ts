import { BadRequestError, NotFoundError } from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { POEM } from "../../helpers/fake-upstream/scripts.ts";
import { type Bench, logOf, nodeClient, startBench } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";
import { CHAT_DIALECTS, groupOf, upstreamModel } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const client = () => nodeClient(bench).openai;
const WEATHER = {
  type: "function" as const,
  name: "get_weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

async function eventsOf(model: string): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client().responses.create({ model, input: "hi", stream: true })) events.push(event);
  return events;
}

/** A stream that broke in the middle, as both ways of reading it see it. */
async function expectFailed(model: string): Promise<void> {
  const events = await eventsOf(model);
  const deltas = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []));
  expect([model, deltas.join("")]).toEqual([model, "one two three "]);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: { status: "failed", error: { code: expect.any(String), message: expect.stringMatching(/./) } },
  });
  const final = await client().responses.stream({ model, input: "hi" }).finalResponse();
  expect([final.status, final.error?.message]).toEqual(["failed", expect.stringMatching(/./)]);
}

/** An upstream that speaks the API itself: requests go on as they are, and what comes back is ours all the same. */
async function passesThrough(): Promise<void> {
  const tools = [{ type: "web_search" as const }];
  const { data, response } = await client().responses.create({ model: "nat", input: "hi", tools }).withResponse();
  expect([data.output_text, data.status, data.model, data.output[0]?.type]).toEqual(["pong", "completed", "nat", "web_search_call"]);
  expect(bench.fake.last(upstreamModel("nat")).body).toMatchObject({ input: "hi", tools, store: false });
  const bill = await logOf(bench, response.headers.get("x-gw-call-id"));
  expect([bill.usage.input, bill.usage.output]).toEqual([data.usage?.input_tokens, data.usage?.output_tokens]);
  expect(await client().responses.retrieve(data.id)).toMatchObject({ id: data.id, output_text: "pong" });
  const events = await eventsOf("nat-poem");
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(["response.created", "response.completed"]);
  expect(JSON.stringify(events)).not.toMatch(/upstream|_up\d/);
  const poem = await client().responses.stream({ model: "nat-poem", input: "hi" }).finalResponse();
  expect([poem.output_text, poem.status]).toEqual([POEM.join(""), "completed"]);
  const first = await client()
    .responses.stream({ model: "nat-two-tools", input: "weather?", tools: [WEATHER] })
    .finalResponse();
  const outputs = first.output.flatMap((item) =>
    item.type === "function_call" ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "7" }] : [],
  );
  const second = await client().responses.create({ model: "nat-two-tools", input: outputs, previous_response_id: first.id });
  expect([outputs.length, second.output_text, second.previous_response_id]).toEqual([2, "It is 7 degrees.", first.id]);
  const thought = await client().responses.stream({ model: "nat-thinking", input: "hi" }).finalResponse();
  expect([thought.output_text, thought.usage?.output_tokens_details.reasoning_tokens]).toEqual(["42", 4]);
  for (const script of ["error-after-3", "cut-after-3", "reset-after-3"]) await expectFailed(groupOf("nat", script));
  await expectPaidPart();
}

/** A client that leaves pays for what it was given. */
async function expectPaidPart(): Promise<void> {
  const { data, response } = await client().responses.create({ model: "nat-drip", input: "hi", stream: true }).withResponse();
  let seen = 0;
  for await (const event of data) if (event.type === "response.output_text.delta" && ++seen === 2) break;
  const row = await logOf(bench, response.headers.get("x-gw-call-id"));
  expect([row.status, row.usage.output >= 2, row.cost > 0]).toEqual(["cancelled", true, true]);
}

testCases(
  "openai-node",
  {
    H1: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const { data, response } = await client().responses.create({ model: dialect, input: "hi" }).withResponse();
        expect([dialect, data.output_text, data.status, data.model, data.object]).toEqual([
          dialect,
          "pong",
          "completed",
          dialect,
          "response",
        ]);
        expect(data.usage).toMatchObject({
          input_tokens: expect.any(Number),
          input_tokens_details: { cached_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: (data.usage?.input_tokens ?? 0) + (data.usage?.output_tokens ?? 0),
        });
        const bill = await logOf(bench, response.headers.get("x-gw-call-id"));
        expect([bill.usage.input, bill.usage.output]).toEqual([data.usage?.input_tokens, data.usage?.output_tokens]);
      }
    },
    H2: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const model = groupOf(dialect, "poem");
        const events = await eventsOf(model);
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
        expect([events[0]?.type, events.at(-1)?.type]).toEqual(["response.created", "response.completed"]);
        const final = await client().responses.stream({ model, input: "hi" }).finalResponse();
        expect([dialect, final.output_text, final.status]).toEqual([dialect, POEM.join(""), "completed"]);
      }
    },
    H3: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const model = groupOf(dialect, "two-tools");
        const first = await client()
          .responses.stream({ model, input: "weather?", tools: [WEATHER] })
          .finalResponse();
        const calls = first.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
        expect([dialect, calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])]).toEqual([
          dialect,
          [
            ["get_weather", { city: "Oslo" }],
            ["get_weather", { city: "Rome" }],
          ],
        ]);
        const outputs = calls.map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "7" }));
        const second = await client().responses.create({ model, input: outputs, previous_response_id: first.id, tools: [WEATHER] });
        expect([dialect, second.output_text, second.previous_response_id]).toEqual([dialect, "It is 7 degrees.", first.id]);
      }
    },
    H4: async () => {
      const failure = await client()
        .responses.create({ model: "oai", input: "hi", previous_response_id: "resp_unknown" })
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(NotFoundError);
      expect(failure).toMatchObject({ param: "previous_response_id", message: expect.stringMatching(/resp_unknown/) });
    },
    H5: () => expectFailed("oai-error-after-3"),
    H6: async () => {
      const { id } = await client().responses.create({ model: "oai", input: "hi", metadata: { a: "b" } });
      expect(await client().responses.retrieve(id)).toMatchObject({ id, metadata: { a: "b" }, output_text: "pong" });
      const items = await client().responses.inputItems.list(id);
      expect(items.data).toMatchObject([{ type: "message", role: "user" }]);
      await expect(client().responses.cancel(id)).rejects.toBeInstanceOf(BadRequestError);
      await client().responses.delete(id);
      await expect(client().responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    },
    H12: async () => {
      for (const group of ["oai-thinking", "anth-thinking", "bed-thinking"]) {
        const final = await client().responses.stream({ model: group, input: "hi" }).finalResponse();
        const reasoning = final.output.flatMap((item) => (item.type === "reasoning" ? item.summary.map(({ text }) => text) : []));
        expect([group, reasoning.join(""), final.output_text]).toEqual([group, "Let me think.", "42"]);
      }
    },
    H13: async () => {
      for (const group of ["oai-cut-after-3", "anth-cut-after-3", "gem-cut-after-3"]) await expectFailed(group);
    },
    H17: passesThrough,
  },
  120_000,
);

testScript({
  client: "openai-python",
  ids: ["H1", "H2", "H3", "H4", "H5", "H6", "H13", "H17"],
  command: python("h_responses.py"),
  bench: () => bench,
});
testScript({ client: "langchain", ids: ["H7"], command: python("h_langchain.py"), bench: () => bench });
