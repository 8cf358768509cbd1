import { axisTicks, rangeTicks } from "./axis-ticks.ts";

/** One point in time: its `label` and a number of each series that has one. */
export type ChartPoint = Readonly<Record<string, string | number>>;

export interface Series {
  readonly name: string;
  readonly label: string;
  /** A color of the theme, `river.6`. */
  readonly color: string;
}

export interface ChartActions {
  /** Opens the calls of one point in time, of one series if the pointer is on it. */
  onPick?: ((index: number, series: string | undefined) => void) | undefined;
  /** Shows only the points from `first` to `last`. */
  onZoom?: ((first: number, last: number) => void) | undefined;
}

/** The area of the marks within the picture, in pixels. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A part of a stacked bar, in values. */
export interface Segment {
  readonly series: Series;
  readonly from: number;
  readonly to: number;
}

const CHARACTER_PX = 7;
const LABEL_GAP_PX = 24;

export function plotOf({ width, height, axisLabels }: { width: number; height: number; axisLabels: readonly string[] }): Plot {
  const left = 12 + CHARACTER_PX * Math.max(0, ...axisLabels.map((label) => label.length));
  return { left, top: 8, width: Math.max(1, width - left - 8), height: Math.max(1, height - 8 - 26) };
}

export function valueIn(point: ChartPoint | undefined, { name }: Series): number | undefined {
  const value = point?.[name];
  return typeof value === "number" ? value : undefined;
}

export function totalOf(point: ChartPoint, series: readonly Series[]): number {
  return series.reduce((sum, each) => sum + (valueIn(point, each) ?? 0), 0);
}

export interface TickInput {
  readonly kind: "bar" | "line";
  readonly data: readonly ChartPoint[];
  readonly series: readonly Series[];
  readonly isCount: boolean;
  readonly isRange: boolean;
}

/** Bars begin at zero, because their length is the amount; a line begins at zero unless its range is asked for. */
export function ticksOf({ kind, data, series, isCount, isRange }: TickInput): number[] {
  if (kind === "bar") return axisTicks(Math.max(0, ...data.map((point) => totalOf(point, series))), isCount);
  const values = data.flatMap((point) => series.flatMap((each) => valueIn(point, each) ?? []));
  if (isRange && values.length > 0) return rangeTicks(Math.min(...values), Math.max(...values));
  return axisTicks(Math.max(0, ...values), isCount);
}

/** The height of a value in the picture. Without any value, everything is on the ground. */
export function yOf(value: number, { ticks, plot }: { ticks: readonly number[]; plot: Plot }): number {
  const first = ticks[0] ?? 0;
  const span = (ticks.at(-1) ?? 0) - first || 1;
  return plot.top + plot.height * (1 - (value - first) / span);
}

/** The middle of a slot; each point has one of the same width. */
export function xOf(index: number, { count, plot }: { count: number; plot: Plot }): number {
  return plot.left + (plot.width * (index + 0.5)) / Math.max(1, count);
}

/** The point whose slot contains the horizontal position, or the nearest. */
export function indexAt(x: number, { count, plot }: { count: number; plot: Plot }): number {
  const index = Math.floor(((x - plot.left) / plot.width) * count);
  return Math.min(count - 1, Math.max(0, index));
}

/** The parts of a bar from the ground up; series without an amount have none. */
export function segmentsOf(point: ChartPoint, series: readonly Series[]): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  for (const each of series) {
    const value = valueIn(point, each) ?? 0;
    if (value <= 0) continue;
    segments.push({ series: each, from, to: from + value });
    from += value;
  }
  return segments;
}

const NEAR_PX = 14;

interface HitInput {
  readonly kind: "bar" | "line";
  readonly point: ChartPoint;
  readonly series: readonly Series[];
  readonly y: number;
  readonly ticks: readonly number[];
  readonly plot: Plot;
}

/** The series drawn at a height, with a few pixels of tolerance; undefined for the empty part above a bar or beside a line. */
export function seriesAt({ kind, point, series, y, ticks, plot }: HitInput): Series | undefined {
  const distance = (top: number, bottom: number) => Math.max(0, top - y, y - bottom);
  const height = (value: number) => yOf(value, { ticks, plot });
  const marks =
    kind === "bar"
      ? segmentsOf(point, series).map(({ series: one, from, to }) => ({ one, far: distance(height(to), height(from)) }))
      : series.flatMap((one) => {
          const value = valueIn(point, one);
          return value === undefined ? [] : [{ one, far: Math.abs(y - height(value)) }];
        });
  const nearest = marks.sort((left, right) => left.far - right.far)[0];
  return nearest && nearest.far <= (kind === "bar" ? 4 : NEAR_PX) ? nearest.one : undefined;
}

/** Every how many points have a label, so that no two labels touch. */
export function labelEvery({ labels, plot }: { labels: readonly string[]; plot: Plot }): number {
  const widest = CHARACTER_PX * Math.max(1, ...labels.map((label) => label.length)) + LABEL_GAP_PX;
  return Math.max(1, Math.ceil((widest * labels.length) / plot.width));
}

/** A color of the theme as CSS. */
export const cssColor = (color: string): string => `var(--mantine-color-${color.replace(".", "-")})`;
