import { type Paint, stateTone } from "../../output/paint.ts";
import { bar } from "../../output/progress.ts";
import { sparkline } from "../../output/sparkline.ts";
import { truncate } from "../../output/text-width.ts";
import { format, valueAt } from "../../output/values.ts";

/** Formats a committed round as one line. */
export function roundLine(round: unknown, paint: Paint): string {
  const states = statesOf(round);
  const left = states.length - count(states, "accepted");
  const tookMs = Date.parse(String(valueAt(round, "committedAt"))) - Date.parse(String(valueAt(round, "openedAt")));
  return [
    `round ${format(valueAt(round, "round")).padStart(3)}`,
    paint("green", "committed"),
    `${count(states, "accepted")} of ${states.length} updates${left > 0 ? paint("yellow", ` (${left} dropped)`) : ""}`,
    `accuracy ${format(valueAt(round, "accuracy"), "percent")}`,
    Number.isFinite(tookMs) ? `${(tookMs / 1000).toFixed(1)} s` : "",
  ]
    .filter((part) => part !== "")
    .join("  ");
}

export interface BlockInput {
  readonly federation: unknown;
  readonly open: unknown;
  readonly accuracies: readonly number[];
  readonly paint: Paint;
  readonly columns: number;
}

/** Formats the status of a federation: state, progress of the open round and of all rounds, and accuracy so far. */
export function blockLines({ federation, open, accuracies, paint, columns }: BlockInput): string[] {
  const width = Math.max(10, Math.min(40, columns - 40));
  const state = format(valueAt(federation, "state"));
  const tone = stateTone(state);
  const waiting = valueAt(federation, "waitingFor");
  // A long name is truncated so that the state stays visible.
  const name = truncate(format(valueAt(federation, "name")), Math.max(10, columns - state.length - 2));
  const head = [paint("bold", name), tone ? paint(tone, state) : state, waiting ? format(waiting) : ""];
  const states = statesOf(open);
  const arrived = states.length - count(states, "selected");
  const done = Number(valueAt(federation, "head.round") ?? 0);
  const total = Number(valueAt(federation, "rounds") ?? 0);
  return [
    head.filter((part) => part !== "").join("  "),
    ...(open === undefined
      ? []
      : [
          `round ${format(valueAt(open, "round")).padStart(3)}  ${bar(arrived, states.length, width)}  ${arrived}/${states.length} ${format(valueAt(open, "state"))}`,
        ]),
    `all        ${bar(done, total, width)}  ${done}/${total} rounds`,
    ...(accuracies.length === 0
      ? []
      : [`accuracy   ${paint("cyan", sparkline(accuracies, width))}  ${format(accuracies.at(-1), "percent")}`]),
  ];
}

function statesOf(round: unknown): string[] {
  const participants = valueAt(round, "participants");
  return Array.isArray(participants) ? participants.map((participant) => String(valueAt(participant, "state"))) : [];
}

const count = (states: readonly string[], wanted: string): number => states.filter((state) => state === wanted).length;
