import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import { onAction } from "../../operations/register.ts";
import type { View } from "../../output/printer.ts";
import { rangeOf, sparkline } from "../../output/sparkline.ts";
import { type Column, format, valueAt } from "../../output/values.ts";

const FEDERATIONS = { min: 2, max: 12 };
const CURVE_COLUMNS = 40;
const LETTERS = "ABCDEFGHIJKL";

interface ComparedRound {
  readonly round: number;
  /** Aggregates by name: `accuracy`, `loss`, `train.<name>` and `evaluate.<name>`. */
  readonly metrics: Readonly<Record<string, number>>;
}

interface Compared {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly rounds: readonly ComparedRound[];
}

/** `gw train compare`: the aggregates of several federations side by side. */
export function registerCompare(train: Command, io: Io): void {
  const command = train
    .command("compare")
    .description("Compare federations round by round: aggregate metrics side by side, and a curve each")
    .argument("<federations...>", "federation IDs")
    .option("--metric <name>", "metric of the rounds and curves, such as loss, train.loss or evaluate.f1 (default: accuracy)");
  onAction(command, io, (context, ids, { metric }) => compare(context, ids, metric === undefined ? undefined : String(metric)));
}

async function compare(context: Context, ids: readonly string[], asked: string | undefined): Promise<void> {
  const { min, max } = FEDERATIONS;
  if (ids.length < min || ids.length > max) throw usageError(`Give ${min} to ${max} federation IDs.`);
  if (new Set(ids).size < ids.length) throw usageError("Each federation can be given once.");
  const federations = await Promise.all(ids.map((id) => read(context, id)));
  const names = metricNames(federations);
  const metric = asked ?? names[0] ?? "accuracy";
  if (asked !== undefined && !names.includes(asked))
    throw usageError(
      `No round has the metric ${asked}.`,
      names.length > 0 ? `Use one of: ${names.join(", ")}.` : "No round is committed yet.",
    );
  const { print } = context;
  if (print.json || print.quiet) return print.answer({ metric, data: federations }, VIEW);
  print.answer(
    { data: overview(federations, metric) },
    { ...VIEW, columns: [...VIEW.columns, { title: metric, at: "last", as: "count" }, CURVE] },
  );
  const each = federations.map((_, index): Column => ({ title: letter(index), at: letter(index), as: "count" }));
  print.table([{ title: "round", at: "title", as: "count" }, ...each], roundRows(federations, metric));
  print.table([{ title: "last round", at: "title" }, ...each], lastRows(federations, names));
}

async function read({ client }: Context, id: string): Promise<Compared> {
  const path = `/training/federations/${encodeURIComponent(id)}`;
  const request = { method: "GET", auth: "either" } as const;
  const [{ body: found }, { body: exported }] = await Promise.all([
    client.send({ ...request, path }),
    client.send({ ...request, path: `${path}/metrics`, untimed: true }),
  ]);
  const rounds = (valueAt(exported, "rounds") ?? []) as readonly unknown[];
  return {
    id,
    name: String(valueAt(found, "federation.name") ?? ""),
    state: String(valueAt(found, "federation.state") ?? ""),
    rounds: rounds.map((round) => ({ round: Number(valueAt(round, "round")), metrics: metricsOf(round) })),
  };
}

function metricsOf(round: unknown): Record<string, number> {
  const of = (at: string) => Object.entries((valueAt(round, at) ?? {}) as Record<string, unknown>);
  const named: [string, unknown][] = [
    ...["accuracy", "loss"].map((name): [string, unknown] => [name, valueAt(round, name)]),
    ...["evaluate", "train"].flatMap((kind) => of(`metrics.${kind}`).map(([name, value]): [string, unknown] => [`${kind}.${name}`, value])),
  ];
  return Object.fromEntries(named.flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, Number(value)]])));
}

/** Every metric that any round has, in the order of a round's own. */
function metricNames(federations: readonly Compared[]): string[] {
  const names = new Set(federations.flatMap(({ rounds }) => rounds.flatMap(({ metrics }) => Object.keys(metrics))));
  const first = ["accuracy", "loss"].filter((name) => names.has(name));
  return [...first, ...[...names].filter((name) => !first.includes(name)).sort()];
}

const VIEW = {
  kind: "list",
  columns: [
    { title: "", at: "letter" },
    { title: "id", at: "id" },
    { title: "name", at: "name" },
    { title: "state", at: "state", as: "state" },
    { title: "rounds", at: "rounds", as: "count" },
  ],
  id: "id",
  paged: false,
} as const satisfies View;

const CURVE: Column = { title: "curve", at: "curve" };

const letter = (index: number): string => LETTERS[index] ?? String(index + 1);

/** All curves have one scale, so that their heights compare. */
function overview(federations: readonly Compared[], metric: string): object[] {
  const curves = federations.map(({ rounds }) => rounds.flatMap(({ metrics }) => metricOf(metrics, metric) ?? []).slice(-CURVE_COLUMNS));
  const range = rangeOf(curves.flat());
  return federations.map(({ id, name, state, rounds }, index) => ({
    ...{ letter: letter(index), id, name, state, rounds: rounds.length },
    last: formatMetric(metric, curves[index]?.at(-1)),
    curve: sparkline(curves[index] ?? [], CURVE_COLUMNS, range),
  }));
}

function roundRows(federations: readonly Compared[], metric: string): object[] {
  const byRound = federations.map(({ rounds }) => new Map(rounds.map(({ round, metrics }) => [round, metricOf(metrics, metric)])));
  const numbers = [...new Set(byRound.flatMap((rounds) => [...rounds.keys()]))].sort((left, right) => left - right);
  return numbers.map((round) =>
    rowOf(
      String(round),
      byRound.map((rounds) => formatMetric(metric, rounds.get(round))),
    ),
  );
}

function lastRows(federations: readonly Compared[], names: readonly string[]): object[] {
  return names.map((name) =>
    rowOf(
      name,
      federations.map(({ rounds }) => formatMetric(name, metricOf(rounds.at(-1)?.metrics ?? {}, name))),
    ),
  );
}

/** A metric may have the name of a property that every object inherits. */
const metricOf = (metrics: Readonly<Record<string, number>>, name: string): number | undefined =>
  Object.hasOwn(metrics, name) ? metrics[name] : undefined;

const rowOf = (title: string, cells: readonly string[]): object => ({
  title,
  ...Object.fromEntries(cells.map((cell, index) => [letter(index), cell])),
});

/** Shares are percentages, other numbers have four decimals. */
const formatMetric = (name: string, value: number | undefined): string =>
  format(value, /(^|\.)accuracy$/.test(name) ? "percent" : "decimal");
