import type { OpenCalls } from "../../../calls/open-calls.ts";
import type { RunDeps, RunStarter } from "../../../stored/assistants/run-actions.ts";
import type { RunFeed } from "../../../stored/assistants/run-feed.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";

/** The dependencies of the Assistants API's operations. */
export interface AssistantsDeps extends RunDeps {
  readonly starter: RunStarter;
  readonly feed: RunFeed;
  /** Aborts the model call of a canceled run if this edge executes it. */
  readonly breakOff: (runId: string) => void;
  readonly bodyBytesMax: number;
  readonly once: AnswerOnce;
  readonly openCalls: OpenCalls;
  /** How long a client may read nothing of its stream. */
  readonly stallMs: number;
}
