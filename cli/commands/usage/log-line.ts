import { type Paint, stateTone } from "../../output/paint.ts";
import { truncate, truncateLine } from "../../output/text-width.ts";
import { format, valueAt } from "../../output/values.ts";

interface Layout {
  readonly model: number;
  readonly key: number;
  readonly tokens: number;
  readonly cost: number;
  readonly hasId: boolean;
}

/** Layouts by minimum terminal width; the first that fits is used. An ID is shown whole or not at all, because a truncated ID is useless. */
const LAYOUTS: readonly (Layout & { readonly columns: number })[] = [
  { columns: 135, model: 20, key: 14, tokens: 18, cost: 12, hasId: true },
  { columns: 118, model: 12, key: 10, tokens: 15, cost: 10, hasId: true },
  { columns: 80, model: 13, key: 10, tokens: 16, cost: 10, hasId: false },
];
const NARROW: Layout = { model: 12, key: 0, tokens: 15, cost: 10, hasId: false };

export const hasRoomForIds = (columns: number): boolean => layoutFor(columns).hasId;

/** Formats a call as one line. `columns` is the terminal width; undefined means a file, where lines have no limit. */
export function logLine(row: unknown, paint: Paint, columns: number | undefined): string {
  const layout = layoutFor(columns);
  const status = format(valueAt(row, "status"));
  const tone = stateTone(status);
  const error = valueAt(row, "errorCode");
  const tokens = `${format(valueAt(row, "usage.input"))}→${format(valueAt(row, "usage.output"))} tokens`;
  // A terminal line has room for either the tokens or, if the call failed, the error code.
  const counted = typeof error === "string" && columns !== undefined ? error : tokens;
  const line = [
    paint("dim", format(valueAt(row, "completedAt"), "time").slice(11, 19)),
    tone ? paint(tone, format(valueAt(row, "httpStatus"))) : format(valueAt(row, "httpStatus")),
    cell(format(valueAt(row, "model")), layout.model),
    ...(layout.key > 0 ? [cell(format(valueAt(row, "apiKeyName")), layout.key)] : []),
    cell(counted, layout.tokens),
    format(valueAt(row, "cost"), "usd").padStart(layout.cost),
    format(valueAt(row, "latencyMs"), "ms").padStart(8),
    ...(layout.hasId ? [paint("dim", format(valueAt(row, "id")))] : []),
    ...(columns === undefined && typeof error === "string" ? [error] : []),
  ].join("  ");
  return layout.hasId || columns === undefined ? line : truncateLine(line, columns);
}

const cell = (text: string, width: number): string => truncate(text, width).padEnd(width);

function layoutFor(columns = Number.POSITIVE_INFINITY): Layout {
  return LAYOUTS.find((layout) => columns >= layout.columns) ?? NARROW;
}
