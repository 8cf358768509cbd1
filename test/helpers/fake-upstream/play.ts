import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Asked, type Dialect, type Frame, sse, textOf } from "./dialect.ts";
import type { Reply, Step } from "./script.ts";

interface Stage {
  readonly step: Step;
  readonly asked: Asked;
  readonly dialect: Dialect;
  readonly response: ServerResponse;
}

/** Plays one step. Ends without an error if the caller disconnects. */
export async function play(stage: Stage): Promise<void> {
  const { step, asked, dialect, response } = stage;
  if (step.hang) return;
  if (step.reset) {
    response.destroy();
  } else if (step.raw) {
    answerRaw(stage, { ...step.raw, headers: { ...step.raw.headers, ...step.extraHeaders } });
  } else if (step.failure) {
    const { status, headers, body } = dialect.refusal(step.failure);
    json(response, { status, headers: { ...headers, ...step.extraHeaders }, body });
  } else {
    const reply = replyOf(step, asked, dialect);
    if (!reply) throw new Error(`the script of ${asked.model} has nothing to say`);
    await (asked.stream ? streamReply(stage, dialect.frames(reply, asked)) : answerWhole(stage, reply));
  }
}

async function answerWhole({ step, asked, dialect, response }: Stage, reply: Reply): Promise<void> {
  await sleep(step.beforeFirstMs ?? 0);
  if (step.failAfter) json(response, dialect.refusal(step.failAfter.failure));
  else if (step.resetAfter === undefined)
    json(response, { status: 200, headers: step.extraHeaders ?? {}, body: dialect.whole(reply, asked) });
  else response.destroy();
}

interface Sent {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

function answerRaw({ asked, dialect, response }: Stage, sent: Sent): void {
  // A raw response is still framed if the request asks for a stream.
  if (!asked.stream || dialect.streamType !== "text/event-stream") {
    json(response, sent);
    return;
  }
  response.writeHead(sent.status, { "content-type": dialect.streamType, ...sent.headers });
  response.end(sse(sent.body).bytes);
}

export function json(response: ServerResponse, { status, headers, body }: Sent): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function replyOf(step: Step, { body }: Asked, dialect: Dialect): Reply | undefined {
  const text = JSON.stringify(body);
  const answered = /"role":"tool"|"tool_result"|"functionResponse"|"toolResult"|"function_call_output"/.test(text);
  const reply = answered && step.afterToolResult ? step.afterToolResult : step.reply;
  const forced = step.asForcedTool ? dialect.forcedTool(body) : undefined;
  if (!reply || forced === undefined) return reply;
  const said = textOf(reply);
  const fragments = [said.slice(0, 10), said.slice(10)];
  return { ...reply, pieces: [{ type: "tool", id: "call_forced", name: forced, fragments }], finish: "tool_calls" };
}

async function streamReply({ step, dialect, response }: Stage, frames: readonly Frame[]): Promise<void> {
  response.writeHead(200, { "content-type": dialect.streamType, ...step.extraHeaders });
  response.flushHeaders();
  await sleep(step.beforeFirstMs ?? 0);
  if (step.promptFilterFirst) response.write(PROMPT_FILTER);
  let contentFrames = 0;
  for (const { bytes, content } of frames) {
    if (response.destroyed || (content && (await endsHere({ step, dialect, response }, contentFrames)))) return;
    if (content && contentFrames > 0 && step.betweenMs) await sleep(step.betweenMs);
    await writeSplit(response, bytes, step.splitBytes);
    if (content) contentFrames++;
  }
  response.end();
}

const PROMPT_FILTER = sse({ id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [] }).bytes;

/** Whether the script cuts the stream before its next content; if so, cuts it. */
async function endsHere({ step, dialect, response }: Omit<Stage, "asked">, contentFrames: number): Promise<boolean> {
  if (contentFrames === step.resetAfter) {
    // Written data must be flushed before the connection is cut.
    await sleep(20);
    response.destroy();
    return true;
  }
  if (contentFrames === step.endAfter) {
    response.end();
    return true;
  }
  if (contentFrames !== step.failAfter?.frames) return false;
  response.end(dialect.failureFrame(step.failAfter.failure));
  return true;
}

async function writeSplit(response: ServerResponse, bytes: Buffer, splitBytes = bytes.length): Promise<void> {
  for (let offset = 0; offset < bytes.length; offset += splitBytes) {
    if (response.closed || response.destroyed) return;
    const drained = response.write(bytes.subarray(offset, offset + splitBytes));
    if (!drained) await drainedOrClosed(response);
    // A turn of the event loop between pieces, because the system would send them as one otherwise.
    if (splitBytes < bytes.length) await new Promise(setImmediate);
  }
}

function drainedOrClosed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      response.off("drain", finish).off("close", finish);
      resolve();
    };
    response.once("drain", finish).once("close", finish);
  });
}
