import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { ContentMemory, type EndedContent, OpenContent } from "./call-content.ts";
import { type ContentFigures, ContentLane, type ContentLaneDeps } from "./content-lane.ts";

/** For contents of running calls and those that wait for the control plane. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;
const STOP_MS = 3000;

type Deps = Omit<ContentLaneDeps, "done">;

/** Prompts and answers of calls whose organization or key stores them, from the call's start to the control plane. */
export class Contents {
  readonly #open = new Map<string, OpenContent>();
  readonly #memory: ContentMemory;
  readonly #lane: ContentLane;

  constructor(deps: Deps, bytesMax = MEMORY_BYTES_MAX) {
    this.#memory = new ContentMemory(bytesMax);
    this.#lane = new ContentLane({ ...deps, done: ({ bytes }) => this.#memory.give(bytes) });
  }

  /** Undefined if the call has one already: a layer around this one began it. */
  begin(call: ConstructorParameters<typeof OpenContent>[0]): OpenContent | undefined {
    if (this.#open.has(call.callId)) return undefined;
    const content = new OpenContent(call, this.#memory);
    this.#open.set(call.callId, content);
    return content;
  }

  /** The call has its row; returns its content for the trace. */
  settling({ callId, createdAt }: Pick<UsageLog, "callId" | "createdAt">): EndedContent | undefined {
    // Most edges have none.
    const open = this.#open.size === 0 ? undefined : this.#open.get(callId);
    if (!open) return undefined;
    this.#open.delete(callId);
    const ended = open.end(createdAt);
    if (ended) this.#lane.add(ended);
    else this.#lane.dropped();
    return ended;
  }

  /** The call was refused: it has no row of its own. */
  forget(callId: string): void {
    this.#open.get(callId)?.drop();
    this.#open.delete(callId);
  }

  figures(): ContentFigures {
    return this.#lane.figures;
  }

  stop(): Promise<void> {
    return this.#lane.stop(STOP_MS);
  }
}
