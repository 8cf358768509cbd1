import type { RunObject, ThreadObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage } from "../../upstream/providers/provider.ts";

// The stored bodies of threads and runs, which have fields that clients do not see. Assistants, messages and run steps are stored as
// clients see them.

/** The stored body of a thread. */
export interface ThreadBody {
  readonly thread: ThreadObject;
  /** While a run is active, messages and further runs are refused. */
  readonly activeRunId: string | null;
}

/** The stored body of a run. */
export interface RunBody {
  readonly run: RunObject;
  /** Model calls whose results are written. The next call is billed once under its number, however often it is repeated. */
  readonly modelCalls: number;
  /** The model's turns and the results of its tools in this run so far. */
  readonly turns: readonly ChatMessage[];
  /** Tokens of all model calls so far; shown when the run has ended. */
  readonly used: { readonly prompt: number; readonly completion: number };
  /** The vector stores that file search covers. */
  readonly vectorStoreIds?: readonly string[];
  /** The files of the last search's results, in the order of their markers. */
  readonly citable?: readonly string[];
  /** The step that waits for tool outputs. */
  readonly openStepId: string | null;
}
