import { setTimeout as sleep } from "node:timers/promises";
import { BadRequestError, NotFoundError } from "openai";
import type { AssistantStreamEvent } from "openai/resources/beta/assistants";
import type { Message } from "openai/resources/beta/threads/messages";
import type { Run } from "openai/resources/beta/threads/runs/runs";
import { POEM } from "../../helpers/fake-upstream/scripts.ts";
import { type Bench, nodeClient, startBench, until, WEATHER } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const beta = () => nodeClient(bench).openai.beta;
const hello = { messages: [{ role: "user" as const, content: "hi" }] };

async function place(model: string, more: object = {}): Promise<{ assistantId: string; threadId: string }> {
  const { id: assistantId } = await beta().assistants.create({ model, ...more });
  return { assistantId, threadId: (await beta().threads.create(hello)).id };
}

const textOf = ({ content }: Message) => content.map((block) => (block.type === "text" ? block.text.value : "")).join("");

async function answersOn(threadId: string): Promise<string[]> {
  const page = await beta().threads.messages.list(threadId, { order: "asc" });
  return page.data.filter(({ role }) => role === "assistant").map(textOf);
}

/** Outputs for whatever a run waits for. */
const outputsFor = (run: Run) =>
  (run.required_action?.submit_tool_outputs.tool_calls ?? []).map(({ id }) => ({ tool_call_id: id, output: "7 degrees" }));

const TEXT_EVENTS = [
  "thread.run.created",
  "thread.run.queued",
  "thread.run.in_progress",
  "thread.run.step.created",
  "thread.run.step.in_progress",
  "thread.message.created",
  "thread.message.in_progress",
  "thread.message.delta",
  "thread.message.completed",
  "thread.run.step.completed",
  "thread.run.completed",
];

/** Names of events, one for each stretch of equal ones. */
function stretches(events: readonly AssistantStreamEvent[]): string[] {
  return events.map(({ event }) => event as string).filter((event, index, all) => event !== all[index - 1]);
}

const ASSISTANT_KEYS = [
  "id",
  "object",
  "created_at",
  "name",
  "description",
  "model",
  "instructions",
  "tools",
  "tool_resources",
  "metadata",
  "temperature",
  "top_p",
  "response_format",
];

testCases(
  "openai-node",
  {
    G1: async () => {
      const made = await beta().assistants.create({ model: "oai", name: "Ada", instructions: "Be kind." });
      expect(Object.keys(made)).toEqual(expect.arrayContaining(ASSISTANT_KEYS));
      const listed = await beta().assistants.list();
      expect(listed.data.map(({ id }) => id)).toContain(made.id);
      expect(await beta().assistants.delete(made.id)).toMatchObject({ id: made.id, object: "assistant.deleted", deleted: true });
      await expect(beta().assistants.retrieve(made.id)).rejects.toThrow(NotFoundError);
    },
    G2: async () => {
      const made: string[] = [];
      for (let count = 0; count < 45; count++) made.push((await beta().assistants.create({ model: "oai" })).id);
      const client = nodeClient(bench);
      const seen: string[] = [];
      for await (const { id } of client.openai.beta.assistants.list({ limit: 20 })) {
        seen.push(id);
        if (seen.length === 45) break;
      }
      expect(seen).toEqual(made.toReversed());
      expect(client.attempts).toBe(3);
    },
    G3: async () => {
      const made = await beta().assistants.create({ model: "oai", name: "Ada", metadata: { k: "v" } });
      const changed = await beta().assistants.update(made.id, { name: null, tools: [WEATHER] });
      expect(changed).toMatchObject({ id: made.id, name: null, metadata: { k: "v" }, tools: [{ type: "function" }] });
    },
    G4: async () => {
      expect(await beta().threads.create()).toMatchObject({ object: "thread", metadata: {} });
      const messages = ["one", "two", "three"].map((content) => ({ role: "user" as const, content }));
      const thread = await beta().threads.create({ messages });
      const page = await beta().threads.messages.list(thread.id, { order: "asc" });
      expect(page.data.map(textOf)).toEqual(["one", "two", "three"]);
    },
    G5: async () => {
      const { id } = await beta().threads.create();
      await beta().threads.messages.create(id, { role: "user", content: "plain" });
      await beta().threads.messages.create(id, { role: "assistant", content: [{ type: "text", text: "in parts" }] });
      const page = await beta().threads.messages.list(id, { order: "asc" });
      expect(page.data.map((message) => [message.role, textOf(message)])).toEqual([
        ["user", "plain"],
        ["assistant", "in parts"],
      ]);
    },
    G6: async () => {
      for (const model of ["oai-poem", "anth-poem", "gem-poem"]) {
        const { assistantId, threadId } = await place(model);
        const run = await beta().threads.runs.createAndPoll(threadId, { assistant_id: assistantId });
        expect([model, run.status, await answersOn(threadId)]).toEqual([model, "completed", [POEM.join("")]]);
        expect(run.usage?.total_tokens).toBeGreaterThan(0);
      }
      const { assistantId } = await place("oai-poem");
      const run = await beta().threads.createAndRunPoll({ assistant_id: assistantId, thread: hello });
      expect(run.status).toBe("completed");
    },
    G7: async () => {
      for (const model of ["oai-two-tools", "anth-two-tools"]) {
        const { assistantId, threadId } = await place(model, { tools: [WEATHER] });
        const waiting = await beta().threads.runs.createAndPoll(threadId, { assistant_id: assistantId });
        expect([model, waiting.status, outputsFor(waiting).length]).toEqual([model, "requires_action", 2]);
        const done = await beta().threads.runs.submitToolOutputsAndPoll(waiting.id, {
          thread_id: threadId,
          tool_outputs: outputsFor(waiting),
        });
        expect([model, done.status, await answersOn(threadId)]).toEqual([model, "completed", ["Let me look.", "It is 7 degrees."]]);
      }
    },
    G8: async () => {
      const { assistantId, threadId } = await place("oai-poem");
      const stream = beta().threads.runs.stream(threadId, { assistant_id: assistantId });
      const events: AssistantStreamEvent[] = [];
      let text = "";
      stream
        .on("event", (event) => events.push(event))
        .on("textDelta", ({ value }) => {
          text += value ?? "";
        });
      const [message] = await stream.finalMessages();
      expect(stretches(events)).toEqual(TEXT_EVENTS);
      expect([text, message && textOf(message)]).toEqual([POEM.join(""), POEM.join("")]);
      expect((await stream.finalRun()).status).toBe("completed");
    },
    G9: async () => {
      const { assistantId, threadId } = await place("oai-tools", { tools: [WEATHER] });
      const first = beta().threads.runs.stream(threadId, { assistant_id: assistantId });
      const waiting = await first.finalRun();
      const [step] = await first.finalRunSteps();
      expect([waiting.status, step?.type]).toEqual(["requires_action", "tool_calls"]);
      const second = beta().threads.runs.submitToolOutputsStream(waiting.id, { thread_id: threadId, tool_outputs: outputsFor(waiting) });
      const events: AssistantStreamEvent[] = [];
      second.on("event", (event) => events.push(event));
      const [message] = await second.finalMessages();
      expect(stretches(events).slice(0, 3)).toEqual(["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]);
      expect([message && textOf(message), (await second.finalRun()).status]).toEqual(["It is 7 degrees.", "completed"]);
    },
    G10: async () => {
      const { assistantId, threadId } = await place("oai-drip");
      const run = await beta().threads.runs.create(threadId, { assistant_id: assistantId });
      await expect(beta().threads.messages.create(threadId, { role: "user", content: "wait" })).rejects.toThrow(BadRequestError);
      await expect(beta().threads.runs.create(threadId, { assistant_id: assistantId })).rejects.toThrow(/already has an active run/);
      await beta().threads.runs.cancel(run.id, { thread_id: threadId });
    },
    G11: async () => {
      const { assistantId, threadId } = await place("oai-drip");
      const run = await beta().threads.runs.create(threadId, { assistant_id: assistantId });
      const asked = bench.fake.of("drip").length;
      await sleep(500);
      const cancelling = await beta().threads.runs.cancel(run.id, { thread_id: threadId });
      expect(["cancelling", "cancelled"]).toContain(cancelling.status);
      expect((await beta().threads.runs.poll(run.id, { thread_id: threadId })).status).toBe("cancelled");
      await until(
        () =>
          bench.fake
            .of("drip")
            .slice(asked - 1)
            .some(({ abortedAt }) => abortedAt !== undefined),
        1_000,
      );
      await expect(beta().threads.runs.cancel(run.id, { thread_id: threadId })).rejects.toThrow(
        /Cannot cancel run with status 'cancelled'/,
      );
    },
    G12: async () => {
      const { assistantId, threadId } = await place("oai-context-error");
      const failed = await beta().threads.runs.createAndPoll(threadId, { assistant_id: assistantId });
      expect([failed.status, failed.last_error?.code]).toEqual(["failed", "invalid_prompt"]);
      expect((await beta().threads.messages.create(threadId, { role: "user", content: "again" })).object).toBe("thread.message");
    },
    G13: async () => {
      const { assistantId, threadId } = await place("oai-cut-short");
      const run = await beta().threads.runs.createAndPoll(threadId, { assistant_id: assistantId, max_completion_tokens: 256 });
      expect([run.status, run.incomplete_details?.reason]).toEqual(["incomplete", "max_completion_tokens"]);
    },
    G14: async () => {
      const { assistantId, threadId } = await place("oai-drip");
      const run = await beta().threads.runs.create(threadId, { assistant_id: assistantId });
      await sleep(500);
      await bench.system.killEdge(0);
      const client = nodeClient(bench, { maxRetries: 5 }).openai.beta;
      const ended = await client.threads.runs.poll(run.id, { thread_id: threadId });
      expect(["completed", "failed", "expired"]).toContain(ended.status);
      if (ended.status === "completed") expect(await answersOn(threadId)).toHaveLength(1);
    },
    G15: async () => {
      const { assistantId, threadId } = await place("oai");
      const stranger = nodeClient(bench, { apiKey: bench.emptyKey }).openai.beta;
      await expect(stranger.assistants.retrieve(assistantId)).rejects.toThrow(NotFoundError);
      await expect(stranger.threads.retrieve(threadId)).rejects.toThrow(NotFoundError);
      await expect(stranger.threads.messages.list(threadId)).rejects.toThrow(NotFoundError);
      const { id } = await beta().threads.runs.createAndPoll(threadId, { assistant_id: assistantId });
      const steps = await beta().threads.runs.steps.list(id, { thread_id: threadId });
      expect(steps.data.map(({ type, status }) => [type, status])).toEqual([["message_creation", "completed"]]);
      expect(await beta().threads.delete(threadId)).toMatchObject({ object: "thread.deleted", deleted: true });
    },
  },
  60_000,
);

/** Kills and starts the gateway's edge as soon as the upstream receives the script's run. */
function restartWhenAsked(command: readonly string[] | undefined): readonly string[] | undefined {
  const before = bench.fake.of("drip").length;
  const restarting = async () => {
    await until(() => bench.fake.of("drip").length > before, 20_000);
    await bench.system.killEdge(0);
  };
  if (command) void restarting().catch((error: unknown) => process.stderr.write(`no restart: ${String(error)}\n`));
  return command;
}

testScript({ client: "openai-python", ids: ["G14"], command: () => restartWhenAsked(python("g14_restart.py")()), bench: () => bench });

testScript({
  client: "openai-python",
  ids: ["G1", "G2", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G11", "G13"],
  command: python("g_assistants.py"),
  bench: () => bench,
});
