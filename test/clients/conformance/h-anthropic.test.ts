import NewAnthropic from "@anthropic-ai/sdk";
import { VERSION as NEW_VERSION } from "@anthropic-ai/sdk/version";
import OldAnthropic from "anthropic-old";
import { VERSION as OLD_VERSION } from "anthropic-old/version";
import { POEM } from "../../helpers/fake-upstream/scripts.ts";
import { type Bench, logOf, startBench } from "./bench.ts";
import { recordVersion, testCases } from "./cases.ts";
import { CHAT_DIALECTS, groupOf, upstreamModel } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

/** What the cases use of both generations; the newer one sends its key as a bearer's. */
type Anthropic = Pick<OldAnthropic, "messages">;
interface Generation {
  readonly open: (options?: { apiKey?: string }) => Anthropic;
  readonly APIError: typeof OldAnthropic.APIError;
  readonly NotFoundError: typeof OldAnthropic.NotFoundError;
  readonly AuthenticationError: typeof OldAnthropic.AuthenticationError;
}

const generations: Record<string, Generation> = {
  "anthropic-node": {
    open: ({ apiKey = bench.key } = {}) => new NewAnthropic({ apiKey, baseURL: bench.system.url }) as unknown as Anthropic,
    APIError: NewAnthropic.APIError as unknown as typeof OldAnthropic.APIError,
    NotFoundError: NewAnthropic.NotFoundError as unknown as typeof OldAnthropic.NotFoundError,
    AuthenticationError: NewAnthropic.AuthenticationError as unknown as typeof OldAnthropic.AuthenticationError,
  },
  "anthropic-node-0": {
    open: ({ apiKey = bench.key } = {}) => new OldAnthropic({ apiKey, baseURL: bench.system.url }),
    APIError: OldAnthropic.APIError,
    NotFoundError: OldAnthropic.NotFoundError,
    AuthenticationError: OldAnthropic.AuthenticationError,
  },
};
recordVersion("anthropic-node", NEW_VERSION);
recordVersion("anthropic-node-0", OLD_VERSION);

const ask = (model: string) => ({ model, max_tokens: 1024, messages: [{ role: "user" as const, content: "hi" }] });
const WEATHER = {
  name: "get_weather",
  description: "The weather of a city.",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] },
};

function casesOf({ open, APIError, NotFoundError, AuthenticationError }: Generation): Record<string, () => Promise<unknown>> {
  const finalOf = (model: string, more: object = {}) =>
    open()
      .messages.stream({ ...ask(model), ...more })
      .finalMessage();
  return {
    H8: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const { data, response } = await open().messages.create(ask(dialect)).withResponse();
        const [block] = data.content;
        expect([dialect, block?.type === "text" ? block.text : undefined, data.stop_reason, data.role, data.model]).toEqual([
          dialect,
          "pong",
          "end_turn",
          "assistant",
          dialect,
        ]);
        const bill = await logOf(bench, response.headers.get("x-gw-call-id"));
        expect([bill.usage.input, bill.usage.output]).toEqual([data.usage.input_tokens, data.usage.output_tokens]);
        expect((data as { _request_id?: string | null })._request_id).toBe(response.headers.get("x-request-id"));
      }
    },
    H9: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const poem = await finalOf(groupOf(dialect, "poem"));
        expect([dialect, poem.content]).toMatchObject([dialect, [{ type: "text", text: POEM.join("") }]]);
        const model = groupOf(dialect, "two-tools");
        const first = await finalOf(model, { tools: [WEATHER] });
        const uses = first.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
        expect([dialect, first.stop_reason, uses.map(({ input }) => input)]).toEqual([
          dialect,
          "tool_use",
          [{ city: "Oslo" }, { city: "Rome" }],
        ]);
        const results = uses.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "7" }));
        const messages = [
          ...ask(model).messages,
          { role: "assistant" as const, content: first.content },
          { role: "user" as const, content: results },
        ];
        const second = await open().messages.create({ ...ask(model), messages, tools: [WEATHER] });
        expect([dialect, second.content]).toMatchObject([dialect, [{ type: "text", text: "It is 7 degrees." }]]);
      }
    },
    H10: async () => {
      for (const group of ["oai-error-after-3", "oai-cut-after-3", "anth-error-after-3", "anth-cut-after-3", "gem-cut-after-3"]) {
        const seen: string[] = [];
        const stream = open().messages.stream(ask(group));
        stream.on("text", (text) => void seen.push(text));
        const failure = await stream.finalMessage().catch((error: unknown) => error);
        expect([group, seen.join("")]).toEqual([group, "one two three "]);
        expect(failure).toBeInstanceOf(APIError);
        expect(String(failure)).toMatch(/overloaded_error/);
      }
    },
    H11: async () => {
      for (const group of ["oai", "anth", "gem"]) {
        const { input_tokens } = await open().messages.countTokens({ model: group, messages: ask(group).messages });
        expect([group, Number.isInteger(input_tokens) && input_tokens > 0]).toEqual([group, true]);
      }
    },
    H14: async () => {
      const thinking = { type: "enabled" as const, budget_tokens: 1024 };
      const final = await finalOf("anth-budget", { max_tokens: 4096, thinking });
      expect(final.content).toMatchObject([
        { type: "thinking", thinking: "Let me think.", signature: "c2lnbmVkLXRob3VnaHQ=" },
        { type: "text", text: "42" },
      ]);
      const messages = [
        ...ask("").messages,
        { role: "assistant" as const, content: final.content },
        { role: "user" as const, content: "so?" },
      ];
      await open().messages.create({ ...ask("anth-budget"), max_tokens: 4096, thinking, messages });
      const model = "claude-3-7-sonnet-20250219--thinking";
      const log = await (await fetch(`${bench.fake.url}/__requests?model=${encodeURIComponent(model)}`)).json();
      const sent = (log as { body: { messages: unknown[]; thinking: unknown } }[]).at(-1)?.body;
      expect(sent).toMatchObject({ thinking, messages: [{}, { role: "assistant", content: final.content }, {}] });
      const cached = await open().messages.create({
        ...ask("anth-usage-cache"),
        system: [{ type: "text", text: "Long.", cache_control: { type: "ephemeral" } }],
      });
      expect(cached.usage).toMatchObject({
        input_tokens: 10,
        cache_read_input_tokens: 512,
        cache_creation_input_tokens: 1733,
        output_tokens: 5,
      });
      const marked = await (await fetch(`${bench.fake.url}/__requests?model=${upstreamModel("anth", "usage-cache")}`)).json();
      expect((marked as { body: unknown }[]).at(-1)?.body).toMatchObject({ system: [{ cache_control: { type: "ephemeral" } }] });
    },
    H15: async () => {
      const refused = await open({ apiKey: "sk-wrong" })
        .messages.create(ask("oai"))
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(AuthenticationError);
      const missing = await open()
        .messages.create(ask("nope"))
        .catch((error: unknown) => error);
      expect(missing).toBeInstanceOf(NotFoundError);
      expect(missing).toMatchObject({
        error: { type: "error", error: { type: "not_found_error", message: expect.stringMatching(/nope/) } },
      });
      const long = await open()
        .messages.create(ask("oai-context-error"))
        .catch((error: unknown) => error);
      expect(long).toMatchObject({ status: 400, error: { error: { type: "invalid_request_error" } } });
    },
  };
}

for (const [client, generation] of Object.entries(generations)) testCases(client, casesOf(generation), 120_000);
