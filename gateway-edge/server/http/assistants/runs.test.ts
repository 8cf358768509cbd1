import { type AssistantsEdge, type Json, type Scripted, startAssistantsEdge } from "../../../stored/assistants/runs-fixture.ts";

let edge: AssistantsEdge;
afterEach(() => edge?.close());

const WEATHER = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};
const OSLO = { id: "call_1", name: "get_weather", arguments: '{"city":"Oslo"}' };

/** An edge with an assistant, a thread with a question on it, and what the model will say. */
async function begin(answers: readonly Scripted[], assistant: object = {}): Promise<{ assistantId: string; threadId: string; at: string }> {
  edge = await startAssistantsEdge(...answers);
  const made = await edge.call("POST", "/v1/assistants", { model: "scripted", instructions: "Be kind.", ...assistant });
  const thread = await edge.call("POST", "/v1/threads", { messages: [{ role: "user", content: "How is Oslo?" }] });
  return { assistantId: made.body.id, threadId: thread.body.id, at: `/v1/threads/${thread.body.id}` };
}

async function run(place: { assistantId: string; threadId: string; at: string }, body: object = {}): Promise<Json> {
  const { body: made } = await edge.call("POST", `${place.at}/runs`, { assistant_id: place.assistantId, ...body });
  return edge.settled(place.threadId, made.id);
}

const messagesOf = async (at: string) => (await edge.call("GET", `${at}/messages?order=asc`)).body.data as Json[];
const textOf = (message: Json) => message.content.map(({ text }: Json) => text.value).join("");
const names = (events: { event: string }[]) => events.map(({ event }) => event).filter((name, index, all) => name !== all[index - 1]);

test("a run answers on the thread, is billed as one piece of work, and has every key", async () => {
  const place = await begin([{ text: ["Cold ", "and wet."], usage: [21, 6] }]);
  const { body: made } = await edge.call("POST", `${place.at}/runs`, {
    assistant_id: place.assistantId,
    additional_instructions: "Be short.",
  });
  expect(made).toEqual({
    id: expect.stringMatching(/^run_/),
    object: "thread.run",
    created_at: expect.any(Number),
    thread_id: place.threadId,
    assistant_id: place.assistantId,
    status: "queued",
    required_action: null,
    last_error: null,
    expires_at: made.created_at + 600,
    started_at: null,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    incomplete_details: null,
    model: "scripted",
    instructions: "Be kind.\n\nBe short.",
    tools: [],
    metadata: {},
    usage: null,
    temperature: null,
    top_p: null,
    max_prompt_tokens: null,
    max_completion_tokens: null,
    truncation_strategy: { type: "auto", last_messages: null },
    response_format: "auto",
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning_effort: null,
  });
  const done = await edge.settled(place.threadId, made.id);
  expect(done).toMatchObject({
    status: "completed",
    usage: { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 },
    expires_at: null,
  });
  expect(done.completed_at).toBeGreaterThanOrEqual(done.started_at);
  const [, answer] = await messagesOf(place.at);
  expect([textOf(answer), answer.status, answer.run_id, answer.assistant_id]).toEqual([
    "Cold and wet.",
    "completed",
    made.id,
    place.assistantId,
  ]);
  const { body: steps } = await edge.call("GET", `${place.at}/runs/${made.id}/steps`);
  expect(steps.data).toEqual([
    {
      id: expect.stringMatching(/^step_/),
      object: "thread.run.step",
      created_at: expect.any(Number),
      run_id: made.id,
      assistant_id: place.assistantId,
      thread_id: place.threadId,
      type: "message_creation",
      status: "completed",
      step_details: { type: "message_creation", message_creation: { message_id: answer.id } },
      last_error: null,
      expired_at: null,
      cancelled_at: null,
      failed_at: null,
      completed_at: expect.any(Number),
      metadata: {},
      usage: { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 },
    },
  ]);
  expect((await edge.call("GET", `${place.at}/runs/${made.id}/steps/${steps.data[0].id}`)).body).toEqual(steps.data[0]);
  expect([...edge.control.settled.values()].map(({ onceFor }) => onceFor)).toEqual([`${made.id}/0`]);
  expect(edge.upstream.requests[0]?.messages).toEqual([
    { role: "system", content: "Be kind.\n\nBe short." },
    { role: "user", content: "How is Oslo?" },
  ]);
  // The thread is free again.
  expect((await edge.call("POST", `${place.at}/messages`, { role: "user", content: "And Rome?" })).status).toBe(200);
  expect((await edge.call("GET", `${place.at}/messages?run_id=${made.id}`)).body.data).toEqual([answer]);
});

test("a streamed run tells its events in OpenAI's order, and its deltas make up the message", async () => {
  const place = await begin([{ text: ["Cold ", "and wet."] }]);
  const events = await edge.stream(`${place.at}/runs`, { assistant_id: place.assistantId });
  expect(names(events)).toEqual([
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
    "done",
  ]);
  const deltas = events.filter(({ event }) => event === "thread.message.delta");
  expect(deltas.map(({ data }) => data.delta.content[0].text.value).join("")).toBe("Cold and wet.");
  const [, stored] = await messagesOf(place.at);
  expect(events.find(({ event }) => event === "thread.message.completed")?.data).toEqual(stored);
});

test("a thread and a run are made at once, streamed from the thread on", async () => {
  const { assistantId } = await begin([{ text: ["Hi."] }]);
  const thread = { messages: [{ role: "user", content: "Hello" }], metadata: { k: "v" } };
  const events = await edge.stream("/v1/threads/runs", { assistant_id: assistantId, thread });
  expect(events[0]).toMatchObject({ event: "thread.created", data: { metadata: { k: "v" } } });
  expect(names(events).at(-2)).toBe("thread.run.completed");
  expect((await messagesOf(`/v1/threads/${events[0]?.data.id}`)).map(textOf)).toEqual(["Hello", "Hi."]);
  const { status, body } = await edge.call("POST", "/threads/runs", { assistant_id: assistantId });
  expect([status, (await edge.settled(body.thread_id, body.id)).status]).toEqual([200, "completed"]);
});

test("functions are asked of the caller; with their outputs the run goes on, and each model call is paid once", async () => {
  const answers: Scripted[] = [
    { text: ["Let me look."], calls: [OSLO], usage: [20, 9] },
    { text: ["7 degrees."], usage: [30, 4] },
  ];
  const place = await begin(answers, { tools: [WEATHER] });
  const events = await edge.stream(`${place.at}/runs`, { assistant_id: place.assistantId, tool_choice: "required" });
  expect(names(events).slice(6)).toEqual([
    "thread.message.in_progress",
    "thread.message.delta",
    "thread.message.completed",
    "thread.run.step.completed",
    "thread.run.step.created",
    "thread.run.step.in_progress",
    "thread.run.step.delta",
    "thread.run.requires_action",
    "done",
  ]);
  const waiting = events.at(-2)?.data;
  expect(waiting.required_action).toEqual({
    type: "submit_tool_outputs",
    submit_tool_outputs: {
      tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }],
    },
  });
  expect(waiting.usage).toBeNull();
  const submit = (toolOutputs: object[], more = {}) =>
    edge.call("POST", `${place.at}/runs/${waiting.id}/submit_tool_outputs`, { tool_outputs: toolOutputs, ...more });
  for (const wrong of [[{ tool_call_id: "call_2", output: "x" }], [{ tool_call_id: "call_1" }, { tool_call_id: "call_1" }]]) {
    expect((await submit(wrong)).status).toBe(400);
  }
  expect((await edge.call("POST", `${place.at}/messages`, { role: "user", content: "Wait" })).status).toBe(400);
  const after = await edge.stream(`${place.at}/runs/${waiting.id}/submit_tool_outputs`, {
    tool_outputs: [{ tool_call_id: "call_1", output: "7" }],
  });
  expect(names(after).slice(0, 3)).toEqual(["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]);
  expect(after[0]?.data.step_details.tool_calls[0].function.output).toBe("7");
  expect(after.at(-2)).toMatchObject({ event: "thread.run.completed", data: { usage: { prompt_tokens: 50, completion_tokens: 13 } } });
  expect(edge.upstream.requests[1]?.messages.slice(-2)).toEqual([
    {
      role: "assistant",
      content: "Let me look.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "7" },
  ]);
  expect(edge.upstream.requests.map(({ tool_choice: choice }) => choice)).toEqual(["required", undefined]);
  expect((await submit([{ tool_call_id: "call_1", output: "8" }])).status).toBe(400);
  expect((await messagesOf(place.at)).map(textOf)).toEqual(["How is Oslo?", "Let me look.", "7 degrees."]);
  expect([...edge.control.settled.values()].map(({ onceFor }) => onceFor)).toEqual([`${waiting.id}/0`, `${waiting.id}/1`]);
});

test("an output for every call or none: a missing one is refused and the run still waits", async () => {
  const place = await begin([{ calls: [OSLO, { ...OSLO, id: "call_2" }] }], { tools: [WEATHER] });
  const waiting = await run(place);
  const at = `${place.at}/runs/${waiting.id}`;
  const { status, body } = await edge.call("POST", `${at}/submit_tool_outputs`, {
    tool_outputs: [{ tool_call_id: "call_1", output: "7" }],
  });
  expect([status, body.error.message]).toEqual([400, "Expected tool outputs for call_ids [call_2]."]);
  expect((await edge.call("GET", at)).body.status).toBe("requires_action");
  const cancelled = await edge.call("POST", `${at}/cancel`);
  expect(cancelled.body).toMatchObject({ status: "cancelled", required_action: null });
  expect((await edge.call("GET", `${at}/steps`)).body.data[0].status).toBe("cancelled");
  expect((await edge.call("POST", `${place.at}/messages`, { role: "user", content: "Again" })).status).toBe(200);
});

test("one run at a time on a thread: of many made at once, one is taken", async () => {
  const place = await begin([{ text: ["Slow"], hangs: true }]);
  const tries = await Promise.all(
    Array.from({ length: 8 }, () => edge.call("POST", `${place.at}/runs`, { assistant_id: place.assistantId })),
  );
  expect(tries.filter(({ status }) => status === 200)).toHaveLength(1);
  const active = tries.find(({ status }) => status === 200)?.body.id;
  for (const { status, body } of tries.filter((tried) => tried.body.id !== active)) {
    expect([status, body.error.message]).toEqual([400, `Thread ${place.threadId} already has an active run ${active}.`]);
  }
  const message = await edge.call("POST", `${place.at}/messages`, { role: "user", content: "Wait" });
  expect([message.status, message.body.error.message]).toEqual([
    400,
    `Can't add messages to ${place.threadId} while a run ${active} is active.`,
  ]);
  expect((await edge.call("POST", `${place.at}/runs/${active}/cancel`)).body.status).toBe("cancelling");
  expect((await edge.settled(place.threadId, active)).status).toBe("cancelled");
  expect((await edge.call("POST", `${place.at}/runs/${active}/cancel`)).status).toBe(400);
});

test("a canceled run breaks off its model at once and keeps what was said", async () => {
  const place = await begin([{ text: ["Cold "], hangs: true }]);
  const streaming = edge.stream(`${place.at}/runs`, { assistant_id: place.assistantId });
  let runId = "";
  for (let tries = 0; edge.upstream.requests.length === 0 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  runId = (await edge.call("GET", `${place.at}/runs`)).body.data[0].id;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await edge.call("POST", `${place.at}/runs/${runId}/cancel`)).body.status).toBe("cancelling");
  const events = names(await streaming);
  expect(events.slice(-5)).toEqual([
    "thread.run.cancelling",
    "thread.message.incomplete",
    "thread.run.step.cancelled",
    "thread.run.cancelled",
    "done",
  ]);
  expect(edge.upstream.aborted).toEqual([0]);
  const [, partial] = await messagesOf(place.at);
  expect([textOf(partial), partial.status, partial.incomplete_details]).toEqual(["Cold ", "incomplete", { reason: "run_cancelled" }]);
  expect([...edge.control.settled.values()].map(({ status }) => status)).toEqual(["cancelled"]);
});

test("a client that leaves does not stop its run", async () => {
  const place = await begin([{ text: Array.from({ length: 400 }, (_, index) => `${index} `) }]);
  const leaving = new AbortController();
  const response = await fetch(`${edge.url}${place.at}/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${edge.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: place.assistantId, stream: true }),
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  leaving.abort();
  const { id } = (await edge.call("GET", `${place.at}/runs`)).body.data[0];
  expect((await edge.settled(place.threadId, id)).status).toBe("completed");
});

test("an answer that is cut off makes the run incomplete; one that the model refuses makes it fail, and the thread is free", async () => {
  const place = await begin([
    { text: ["Col"], finish: "length" },
    { text: ["I"], finish: "content_filter" },
    { status: 400 },
    { status: 429 },
  ]);
  const cut = await run(place, { max_completion_tokens: 256 });
  expect([cut.status, cut.incomplete_details]).toEqual(["incomplete", { reason: "max_completion_tokens" }]);
  expect(edge.upstream.requests[0]).toMatchObject({ max_completion_tokens: 256 });
  const filtered = await run(place);
  expect([filtered.status, filtered.last_error.code]).toEqual(["failed", "invalid_prompt"]);
  const refused = await run(place);
  expect([refused.status, refused.last_error.code, refused.failed_at]).toEqual(["failed", "invalid_prompt", expect.any(Number)]);
  edge.control.balance = 0n;
  const broke = await run(place);
  expect([broke.status, broke.last_error.code]).toEqual(["failed", "rate_limit_exceeded"]);
  const reasons = (await messagesOf(place.at)).slice(1).map(({ incomplete_details: details }) => details.reason);
  expect(reasons).toEqual(["max_tokens", "content_filter"]);
});

test("a prompt is cut to the newest messages, and one that never fits ends the run", async () => {
  const place = await begin([{ text: ["ok"] }]);
  for (const content of ["second", "third"]) await edge.call("POST", `${place.at}/messages`, { role: "user", content });
  await run(place, { truncation_strategy: { type: "last_messages", last_messages: 1 } });
  expect(edge.upstream.requests[0]?.messages).toEqual([
    { role: "system", content: "Be kind." },
    { role: "user", content: "third" },
  ]);
  await run(place, { max_prompt_tokens: 256, additional_messages: [{ role: "user", content: "word ".repeat(235) }] });
  const sent = edge.upstream.requests[1]?.messages ?? [];
  expect([sent.length < 6, sent.at(-1)?.content]).toEqual([true, "word ".repeat(235)]);
  const never = await run(place, { max_prompt_tokens: 256, additional_messages: [{ role: "user", content: "word ".repeat(400) }] });
  expect([never.status, never.incomplete_details]).toEqual(["incomplete", { reason: "max_prompt_tokens" }]);
  expect(edge.upstream.requests).toHaveLength(2);
});

test("metadata of a run that is at work can be changed, and stays when it ends", async () => {
  const place = await begin([{ calls: [OSLO] }, { text: ["7."] }], { tools: [WEATHER] });
  const waiting = await run(place);
  const at = `${place.at}/runs/${waiting.id}`;
  expect((await edge.call("POST", at, { metadata: { k: "v" } })).body.metadata).toEqual({ k: "v" });
  await edge.call("POST", `${at}/submit_tool_outputs`, { tool_outputs: [{ tool_call_id: "call_1", output: "7" }] });
  expect(await edge.settled(place.threadId, waiting.id)).toMatchObject({ status: "completed", metadata: { k: "v" } });
});

test("a thread that is deleted under its run takes the run with it; nothing of it stays", async () => {
  const place = await begin([{ text: ["Slow"], hangs: true }]);
  const { body: made } = await edge.call("POST", `${place.at}/runs`, { assistant_id: place.assistantId });
  for (let tries = 0; edge.upstream.requests.length === 0 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await edge.call("DELETE", place.at)).status).toBe(200);
  expect((await edge.call("GET", `${place.at}/runs/${made.id}`)).status).toBe(404);
  for (let tries = 0; edge.upstream.aborted.length === 0 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(edge.upstream.aborted).toEqual([0]);
});
