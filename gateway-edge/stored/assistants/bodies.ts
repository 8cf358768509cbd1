import type { RunObject, ThreadObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage } from "../../upstream/providers/provider.ts";

// What the store keeps. An assistant, a message and a run step are kept as clients see them; these two hold more.

export interface ThreadBody {
  readonly thread: ThreadObject;
  /** While there is one, neither a message nor another run is taken. */
  readonly activeRunId: string | null;
}

export interface RunBody {
  readonly run: RunObject;
  /** Calls of the model that are done and written. The next one is paid once under its number, however often it is made. */
  readonly modelCalls: number;
  /** What was said in this run so far: the model's turns and the results of its tools. */
  readonly turns: readonly ChatMessage[];
  /** Of all model calls so far; shown when the run has ended. */
  readonly used: { readonly prompt: number; readonly completion: number };
  /** The step that waits for tool outputs. */
  readonly openStepId: string | null;
}
