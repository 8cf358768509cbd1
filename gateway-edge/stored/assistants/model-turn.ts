import { citationsIn } from "../../calls/dialects/file-citations.ts";
import type { MessageObject, RequestedCall, RunObject, StepCall, StepObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage, Fields } from "../../upstream/providers/provider.ts";
import { answerMessageOf, type Stamp, stepOf, textBlock } from "./objects.ts";
import type { RunEvent } from "./run-feed.ts";

interface TurnInput {
  readonly run: RunObject;
  readonly stamp: (prefix: "msg" | "step") => Stamp;
  readonly emit: (event: RunEvent) => void;
  /** Whether a tool call is the gateway's own file search and not a function of the caller. */
  readonly isSearch: (name: string) => boolean;
  /** The files of the last search's results, in the order of their markers. */
  readonly citable: readonly string[];
}

/** The message under way. Events of tool calls are deferred until it is written: its `completed` comes before the next `created`. */
type Begun = { readonly message: MessageObject; readonly step: StepObject };

/** One answer of the model, assembled from its parts; emits an event for each. */
export class ModelTurn {
  readonly #input: TurnInput;
  readonly #calls = new Map<number, { id: string; name: string; text: string }>();
  readonly #deferred: RunEvent[] = [];
  #begun: Begun | undefined;
  #toolStep: StepObject | undefined;
  #text = "";
  #refusal = "";
  finishReason = "";

  constructor(input: TurnInput) {
    this.#input = input;
  }

  takeText(text: string): void {
    if (text === "") return;
    const { message } = this.#beginMessage();
    this.#text += text;
    this.#emitMessageDelta(message, [{ index: 0, type: "text", text: { value: text } }]);
  }

  /** Takes the other fields of an OpenAI delta: refusals and tool calls. */
  takeFields({ refusal, tool_calls: calls }: Fields): void {
    if (typeof refusal === "string" && refusal !== "") {
      const { message } = this.#beginMessage();
      this.#refusal += refusal;
      this.#emitMessageDelta(message, [{ index: this.#text === "" ? 0 : 1, type: "refusal", refusal }]);
    }
    if (Array.isArray(calls)) for (const call of calls as CallDelta[]) this.#takeCall(call);
  }

  get calls(): RequestedCall[] {
    return [...this.#calls.values()].map(({ id, name, text }) => ({ id, type: "function", function: { name, arguments: text || "{}" } }));
  }

  /** The message with its text and refusal, and its step; undefined if the model wrote no text. */
  get said(): { message: MessageObject; step: StepObject } | undefined {
    if (!this.#begun) return undefined;
    const text = this.#text === "" ? [] : [textBlock(this.#text, this.#annotations)];
    const refusal = this.#refusal === "" ? [] : [{ type: "refusal" as const, refusal: this.#refusal }];
    return { step: this.#begun.step, message: { ...this.#begun.message, content: [...text, ...refusal] } };
  }

  /** The citations of the whole text, as the last delta of its message. */
  get cited(): RunEvent[] {
    const annotations = this.#annotations.map((annotation, index) => ({ index, ...annotation }));
    if (!this.#begun || annotations.length === 0) return [];
    return [messageDelta(this.#begun.message, [{ index: 0, type: "text", text: { annotations } }])];
  }

  get #annotations() {
    return citationsIn(this.#text, this.#input.citable).map(({ index, marker, result }) => ({
      ...{ type: "file_citation", text: marker, start_index: index, end_index: index + marker.length },
      file_citation: { file_id: result },
    }));
  }

  toolStep(calls: StepCall[]): StepObject | undefined {
    return this.#toolStep && { ...this.#toolStep, step_details: { type: "tool_calls", tool_calls: calls } };
  }

  /** The model's turn as the next call repeats it. */
  get asChatMessage(): ChatMessage {
    const text = this.#text + this.#refusal;
    const calls = this.calls;
    return { role: "assistant", content: text === "" ? null : text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  }

  /** Takes the events that were deferred while a message was open. */
  takeDeferred(): RunEvent[] {
    return this.#deferred.splice(0);
  }

  #beginMessage(): Begun {
    if (this.#begun) return this.#begun;
    const { run, stamp } = this.#input;
    const message = answerMessageOf(stamp("msg"), run);
    const step = stepOf(stamp("step"), run, { type: "message_creation", message_creation: { message_id: message.id } });
    this.#begun = { message, step };
    const events = [
      ...["created", "in_progress"].map((name) => ({ event: `thread.run.step.${name}`, data: step })),
      ...["created", "in_progress"].map((name) => ({ event: `thread.message.${name}`, data: message })),
    ];
    for (const event of events) this.#input.emit(event);
    return this.#begun;
  }

  #emitMessageDelta(message: MessageObject, content: object[]): void {
    this.#input.emit(messageDelta(message, content));
  }

  #takeCall({ index = this.#calls.size, id, function: called }: CallDelta): void {
    const known = this.#calls.get(index);
    const call = known ?? { id: id ?? `call_${this.#input.stamp("step").id.slice("step_".length)}`, name: called?.name ?? "", text: "" };
    const added = called?.arguments ?? "";
    if (known && !known.name && called?.name) known.name = called.name;
    call.text += added;
    this.#calls.set(index, call);
    const step = this.#beginTools();
    const isSearch = this.#input.isSearch(call.name);
    if (isSearch && known) return;
    const head = known ? {} : { id: call.id };
    const detail = isSearch
      ? { type: "file_search", file_search: {} }
      : { type: "function", function: { ...(known ? {} : { name: call.name, output: null }), arguments: added } };
    this.#emitToolEvent({
      event: "thread.run.step.delta",
      data: {
        id: step.id,
        object: "thread.run.step.delta",
        delta: { step_details: { type: "tool_calls", tool_calls: [{ index, ...head, ...detail }] } },
      },
    });
  }

  #beginTools(): StepObject {
    if (this.#toolStep) return this.#toolStep;
    const step = stepOf(this.#input.stamp("step"), this.#input.run, { type: "tool_calls", tool_calls: [] });
    this.#toolStep = step;
    for (const name of ["created", "in_progress"]) this.#emitToolEvent({ event: `thread.run.step.${name}`, data: step });
    return step;
  }

  #emitToolEvent(event: RunEvent): void {
    if (this.#begun) this.#deferred.push(event);
    else this.#input.emit(event);
  }
}

function messageDelta({ id }: MessageObject, content: object[]): RunEvent {
  return { event: "thread.message.delta", data: { id, object: "thread.message.delta", delta: { content } } };
}

interface CallDelta {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}
