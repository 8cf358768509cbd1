import { setTimeout as sleep } from "node:timers/promises";
import { ignore } from "../../../common/ignore.ts";
import { fromJson } from "../../../common/json.ts";
import { CliError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { EXIT } from "../../exit-codes.ts";
import { readSse } from "../../http/sse.ts";
import { lineJson } from "../../output/json.ts";
import { type LiveBlock, liveBlock } from "../../output/live-block.ts";
import { rowsOf } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { blockLines, roundLine } from "./round-lines.ts";

const ENDED_STATES = new Set(["completed", "failed", "stopped"]);
const RECONNECT_MS = 1000;
const PAGE = 100;

/** Follows a federation until it ends: progress bars on a terminal, NDJSON events otherwise. */
export async function followRounds(context: Context, id: string): Promise<void> {
  const path = `/training/federations/${encodeURIComponent(id)}`;
  const screen = context.print.json ? undefined : new Screen(context, path);
  await screen?.refresh();
  if (!screen?.hasEnded) await eachEvent(context, path, async (event) => (screen ? screen.refresh() : context.print.text(lineJson(event))));
  if (context.io.signal.aborted) return;
  await screen?.refresh();
  screen?.throwIfFailed();
}

/** Passes events to `take` until the last one. After a disconnect it reconnects and resumes from the last event id. */
async function eachEvent(context: Context, path: string, take: (event: object) => Promise<void>): Promise<void> {
  const { client, io } = context;
  let after: string | undefined;
  while (!io.signal.aborted) {
    try {
      const response = await client.open({ method: "GET", path: `${path}/events`, query: { after }, auth: "either", untimed: true });
      for await (const { event, data, id } of readSse(response.body ?? new ReadableStream())) {
        after = id ?? after;
        await take({ event, ...(fromJson(data) as object) });
        if (event === "end") return;
      }
    } catch (error) {
      if (error instanceof CliError && error.exit !== EXIT.server && error.exit !== EXIT.interrupted) throw error;
    }
    await ignore(sleep(RECONNECT_MS, undefined, { signal: io.signal }), "the signal ends the wait");
  }
}

/** The terminal view: committed rounds as permanent lines, the open round as bars below them. */
class Screen {
  readonly #context: Context;
  readonly #path: string;
  readonly #block: LiveBlock;
  readonly #accuracies: number[] = [];
  #federation: unknown;
  #shown = 0;

  constructor(context: Context, path: string) {
    this.#context = context;
    this.#path = path;
    this.#block = liveBlock(context.io.stdout);
  }

  get hasEnded(): boolean {
    return ENDED_STATES.has(String(valueAt(this.#federation, "state")));
  }

  /** Fetches the current state. Events only signal that the state has changed. */
  async refresh(): Promise<void> {
    const { client } = this.#context;
    const { body } = await client.send({ method: "GET", path: this.#path, auth: "either" });
    this.#federation = valueAt(body, "federation");
    let open: unknown;
    for (;;) {
      const page = String(Math.floor(this.#shown / PAGE) + 1);
      const answer = await client.send({
        method: "GET",
        path: `${this.#path}/rounds`,
        query: { page, pageSize: String(PAGE) },
        auth: "either",
      });
      const fresh = rowsOf(answer.body).slice(this.#shown % PAGE);
      const committed = fresh.filter((round) => valueAt(round, "state") === "committed");
      for (const round of committed) this.#addRound(round);
      open = fresh.find((round) => valueAt(round, "state") !== "committed");
      if (committed.length === 0 || this.#shown % PAGE !== 0) break;
    }
    this.#block.draw(
      blockLines({
        federation: this.#federation,
        open,
        accuracies: this.#accuracies,
        paint: this.#context.print.paint,
        columns: this.#context.io.stdout.columns,
      }),
    );
  }

  #addRound(round: unknown): void {
    this.#shown += 1;
    const accuracy = valueAt(round, "accuracy");
    if (accuracy !== null && accuracy !== undefined) this.#accuracies.push(Number(accuracy));
    this.#block.print(roundLine(round, this.#context.print.paint));
  }

  throwIfFailed(): void {
    if (valueAt(this.#federation, "state") !== "failed") return;
    throw new CliError(EXIT.failure, {
      error: String(valueAt(this.#federation, "failure.message") ?? "The federation failed."),
      code: String(valueAt(this.#federation, "failure.code") ?? "FAILED"),
    });
  }
}
