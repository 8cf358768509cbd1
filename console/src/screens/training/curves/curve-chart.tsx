import { Box, Group, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { movedTo } from "../../../components/charts/use-chart-cursor.ts";
import { roundTicks, type ValueAxis, valueAxis } from "./curve-scale.ts";
import { formatMetric, type Point } from "./metric-lines.ts";

export interface CurveLine {
  readonly id: string;
  readonly label: string;
  readonly points: readonly Point[];
  /** Drawn thicker than the others. */
  readonly isMain?: boolean;
}

interface CurveChartProps {
  /** Text alternative of the chart. */
  label: string;
  metric: string;
  lines: readonly CurveLine[];
  height?: number;
}

const EDGE = { left: 68, right: 14, top: 10, bottom: 34 };
const WIDTH_MIN = 240;
const LABEL_PX = 34;
/** Rounds up to which each point is marked. */
const MARKED_MAX = 40;
const COLORS = ["river-6", "orange-7", "grape-6", "green-8", "red-6", "indigo-5", "yellow-8", "pink-6"];
const DASHES = ["none", "6 3", "2 3"];

/** Lines over rounds in plain SVG: the value axis is fitted to the data, the other one has whole rounds. */
export function CurveChart({ label, metric, lines, height = 260 }: CurveChartProps) {
  const { ref, width: measured } = useElementSize();
  const [near, setNear] = useState<number>();
  const drawn = lines.filter(({ points }) => points.length > 0);
  if (drawn.length === 0) return null;
  const width = Math.max(WIDTH_MIN, measured);
  const rounds = [...new Set(drawn.flatMap(({ points }) => points.map(({ round }) => round)))].sort((left, right) => left - right);
  const plot = plotOf({ width, height, rounds, values: drawn.flatMap(({ points }) => points.map(({ value }) => value)) });
  const follow = (event: PointerEvent<HTMLElement>) =>
    setNear(plot.roundAt(event.clientX - event.currentTarget.getBoundingClientRect().left + plot.left));
  const place = near === undefined ? undefined : Math.max(0, rounds.indexOf(near));
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = movedTo(event.key, { index: place, count: rounds.length });
    if (next === undefined && event.key !== "Escape") return;
    event.preventDefault();
    setNear(next === undefined ? undefined : rounds[next]);
  };
  const shown = rounds[place ?? rounds.length - 1] ?? 1;
  return (
    <Box ref={ref} pos="relative">
      <svg width="100%" height={height} role="img" aria-label={label}>
        <Axes plot={plot} metric={metric} />
        {near !== undefined && (
          <line x1={plot.x(near)} x2={plot.x(near)} y1={EDGE.top} y2={plot.bottom} stroke="var(--mantine-color-dimmed)" />
        )}
        {drawn.map((line) => (
          <Line key={line.id} line={line} look={lookOf(lines, line)} plot={plot} isMarked={rounds.length <= MARKED_MAX} />
        ))}
      </svg>
      <div
        className="chart-cursor"
        style={{ left: plot.left, top: EDGE.top, width: plot.right - plot.left, height: plot.bottom - EDGE.top }}
        role="slider"
        tabIndex={0}
        aria-label={`${label}. Arrow keys read the values.`}
        aria-valuemin={rounds[0] ?? 1}
        aria-valuemax={rounds.at(-1) ?? 1}
        aria-valuenow={shown}
        aria-valuetext={roundText(drawn, { metric, round: shown })}
        onPointerMove={follow}
        onPointerLeave={() => setNear(undefined)}
        onKeyDown={onKeyDown}
        onBlur={() => setNear(undefined)}
      />
      <Text size="xs" c="dimmed" mb={4}>
        {plot.axis.low > 0 ? `The axis begins at ${formatMetric(metric, plot.axis.low, plot.axis.decimals)}, not at 0. ` : ""}
        {near === undefined ? "Values are those of each curve's last round." : `Values of round ${near}.`}
      </Text>
      <Legend {...{ lines, metric, near }} />
    </Box>
  );
}

/** The values of a round as text. */
function roundText(lines: readonly CurveLine[], { metric, round }: { metric: string; round: number }): string {
  const values = lines.flatMap(({ label, points }) => {
    const point = points.find((one) => one.round === round);
    return point ? [`${label} ${formatMetric(metric, point.value)}`] : [];
  });
  return `Round ${round}: ${values.join(", ")}`;
}

interface Look {
  readonly color: string;
  readonly dash: string;
}

function lookOf(lines: readonly CurveLine[], line: CurveLine): Look {
  const index = lines.indexOf(line);
  return {
    color: `var(--mantine-color-${COLORS[index % COLORS.length]})`,
    dash: DASHES[Math.floor(index / COLORS.length) % DASHES.length] ?? "none",
  };
}

interface Plot {
  readonly axis: ValueAxis;
  readonly rounds: readonly number[];
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  x(round: number): number;
  y(value: number): number;
  roundAt(x: number): number | undefined;
}

function plotOf({
  width,
  height,
  rounds,
  values,
}: {
  width: number;
  height: number;
  rounds: readonly number[];
  values: readonly number[];
}): Plot {
  const axis = valueAxis(values);
  const [left, right, bottom] = [EDGE.left, width - EDGE.right, height - EDGE.bottom];
  const [first, last] = [rounds[0] ?? 1, rounds.at(-1) ?? 1];
  const x = (round: number) => (last === first ? (left + right) / 2 : left + ((round - first) / (last - first)) * (right - left));
  const y = (value: number) => bottom - ((value - axis.low) / (axis.high - axis.low)) * (bottom - EDGE.top);
  const roundAt = (at: number) =>
    rounds.reduce<number | undefined>(
      (best, round) => (best === undefined || Math.abs(x(round) - at) < Math.abs(x(best) - at) ? round : best),
      undefined,
    );
  return { axis, rounds, left, right, bottom, x, y, roundAt };
}

function Axes({ plot: { axis, rounds, left, right, bottom, x, y }, metric }: { plot: Plot; metric: string }) {
  const text = { fontSize: 12, fill: "var(--mantine-color-dimmed)" };
  const ticks = roundTicks(rounds[0] ?? 1, rounds.at(-1) ?? 1, Math.max(2, Math.floor((right - left) / LABEL_PX)));
  return (
    <g aria-hidden>
      {axis.ticks.map((tick) => (
        <g key={tick}>
          <line x1={left} x2={right} y1={y(tick)} y2={y(tick)} stroke="var(--line)" />
          <text x={left - 8} y={y(tick) + 4} textAnchor="end" {...text}>
            {formatMetric(metric, tick, axis.decimals)}
          </text>
        </g>
      ))}
      {ticks.map((round) => (
        <text key={round} x={x(round)} y={bottom + 16} textAnchor="middle" {...text}>
          {round}
        </text>
      ))}
      <text x={(left + right) / 2} y={bottom + 31} textAnchor="middle" {...text}>
        Round
      </text>
    </g>
  );
}

function Line({ line: { points, isMain }, look, plot, isMarked }: { line: CurveLine; look: Look; plot: Plot; isMarked: boolean }) {
  const path = points.map(({ round, value }, index) => `${index === 0 ? "M" : "L"}${plot.x(round).toFixed(1)} ${plot.y(value).toFixed(1)}`);
  return (
    <g aria-hidden stroke={look.color} fill={look.color}>
      <path d={path.join("")} fill="none" strokeWidth={isMain ? 3 : 1.75} strokeDasharray={look.dash} strokeLinejoin="round" />
      {/* A point alone has no line. */}
      {(isMarked || points.length === 1) &&
        points.map(({ round, value }) => <circle key={round} cx={plot.x(round)} cy={plot.y(value)} r={isMain ? 3 : 2} />)}
    </g>
  );
}

function Legend({ lines, metric, near }: { lines: readonly CurveLine[]; metric: string; near: number | undefined }) {
  return (
    <Group gap="md" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label="Curves">
      {lines.map((line) => {
        const { color, dash } = lookOf(lines, line);
        const point = near === undefined ? line.points.at(-1) : line.points.find(({ round }) => round === near);
        return (
          <Group key={line.id} component="li" gap={6} wrap="nowrap">
            <svg width={18} height={8} aria-hidden>
              <line x1={0} x2={18} y1={4} y2={4} stroke={color} strokeWidth={line.isMain ? 3 : 2} strokeDasharray={dash} />
            </svg>
            <Text size="sm" style={{ overflowWrap: "anywhere" }}>
              {line.label}{" "}
              <Text span fw={600} className="numbers">
                {point === undefined ? "–" : formatMetric(metric, point.value)}
              </Text>
            </Text>
          </Group>
        );
      })}
    </Group>
  );
}
