import type { NanoUsd } from "../../../../common/money.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";

/** A tool that the gateway itself runs for a model. */
export interface GatewayTool {
  /** The name of the function that the model gets; differs from all functions of the caller. */
  readonly name: string;
  /** The function, as a tool of the Responses API. */
  readonly offered: Fields;
  /** Whether a `tool_choice` of the caller names this tool. */
  isChosenBy(choice: Fields): boolean;
  run(argumentsText: string, context: ToolContext): Promise<ToolResult>;
}

export interface ToolContext {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Of repeated runs with one key, one is billed; absent: the run is not repeated. */
  readonly onceFor: string | undefined;
  /** Called with the cost of each call that the run made and that was billed, also if the run then fails. */
  readonly onBill: (cost: NanoUsd) => void;
}

export interface ToolResult {
  /** The output item of the response, without its id. */
  readonly item: Fields;
  /** What the model reads. */
  readonly output: string;
}

/** The most characters of a tool's result that the model gets. */
export const OUTPUT_LENGTH_MAX = 256 * 1024;

/** Names of functions, each once, in the form that every provider takes. */
export class FunctionNames {
  readonly #taken: Set<string>;

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

  free(wanted: string): string {
    const base = wanted.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 60);
    let name = base;
    for (let number = 2; this.#taken.has(name); number++) name = `${base}_${number}`;
    this.#taken.add(name);
    return name;
  }
}
