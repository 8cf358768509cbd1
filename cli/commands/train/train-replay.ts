import { argument, type OperationSpec, option, type RequestValues, required } from "../../operations/spec.ts";
import { sparkline } from "../../output/sparkline.ts";
import { format, valueAt } from "../../output/values.ts";

const CURVE_COLUMNS = 40;

/** `gw train replay`: prints both accuracy curves, round by round and as sparklines. */
export const replay: OperationSpec = {
  name: "replay",
  summary: "Replay rounds from stored updates with another strategy and compare. Nothing is changed",
  method: "POST",
  path: "/training/federations/:id/replays",
  auth: "either",
  fields: [
    argument("id", "federation ID"),
    option("--strategy <name>", "aggregation strategy; `gw train strategies` lists them", "strategy", {
      ...required,
      question: "Strategy",
    }),
    option("--settings <json>", 'strategy settings, such as {"beta":0.3}', "settings", { kind: "json" }),
    option("--rounds <n>", "number of rounds to replay, from the first (default: all)", "rounds", { kind: "integer" }),
  ],
  before: async (_context, { body }: RequestValues) => {
    const { strategy, settings } = body;
    delete body["settings"];
    body["strategy"] = { ...Object(settings), name: strategy };
  },
  view: { kind: "sentence", text: curves, id: "strategy.name" },
};

function curves(body: unknown): string {
  const rounds = (valueAt(body, "rounds") ?? []) as readonly unknown[];
  const name = format(valueAt(body, "strategy.name"));
  const width = Math.max(name.length, "original".length);
  const percent = (round: unknown, which: string) => format(valueAt(round, `${which}.accuracy`), "percent");
  const lines = rounds.map(
    (round) =>
      `round ${format(valueAt(round, "round")).padStart(3)}  ${percent(round, "original").padStart(width)}  ${percent(round, "replayed").padStart(width)}`,
  );
  const curve = (title: string, which: string): string => {
    const values = rounds
      .map((round) => valueAt(round, `${which}.accuracy`))
      .filter((value) => value !== null && value !== undefined)
      .map(Number);
    return `${title.padEnd(width)}  ${sparkline(values, CURVE_COLUMNS)}  ${percent(rounds.at(-1), which)}`;
  };
  return [
    `${" ".repeat(9)}  ${"original".padStart(width)}  ${name.padStart(width)}`,
    ...lines,
    curve("original", "original"),
    curve(name, "replayed"),
  ].join("\n");
}
