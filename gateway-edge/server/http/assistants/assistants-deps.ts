import type { RunDeps, RunStarter } from "../../../stored/assistants/run-actions.ts";
import type { RunFeed } from "../../../stored/assistants/run-feed.ts";

/** What the operations of the Assistants API are handed. */
export interface AssistantsDeps extends RunDeps {
  readonly starter: RunStarter;
  readonly feed: RunFeed;
  /** Breaks off the model of a run that was cancelled, where it is called here. */
  readonly breakOff: (runId: string) => void;
  readonly bodyBytesMax: number;
}
