import { Group, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { axisUsd } from "./axis-ticks.ts";
import { type ChartActions, type ChartPoint, cssColor, plotOf, type Series, ticksOf, xOf } from "./chart-layout.ts";
import { Axes, Bars, Lines } from "./chart-marks.tsx";
import { ChartTooltip, pointText } from "./chart-tooltip.tsx";
import { useChartCursor } from "./use-chart-cursor.ts";

interface TimeChartProps extends ChartActions {
  /** Text alternative of the chart. */
  label: string;
  /** Bars are for sums, and stack; lines are for values that do not add up. */
  kind: "bar" | "line";
  data: readonly ChartPoint[];
  series: readonly Series[];
  format: (value: number) => string;
  /** True for counts: the axis shows whole numbers only. */
  isCount?: boolean;
  /** True for amounts in USD: the labels of the axis have the decimals of its step. */
  isMoney?: boolean;
  /** True for curves whose axis shows their range instead of beginning at zero. */
  isRange?: boolean;
  height?: number;
}

/** Draws numbers over time as SVG in the colors of the theme. */
export function TimeChart(props: TimeChartProps) {
  const { label, kind, data, series, format, isCount = false, isMoney = false, isRange = false, height = 220, onPick, onZoom } = props;
  const { ref, width } = useElementSize();
  const ticks = ticksOf({ kind, data, series, isCount, isRange });
  const tickLabels = ticks.map((tick) => (isMoney ? axisUsd(tick, ticks) : format(tick)));
  const plot = plotOf({ width, height, axisLabels: tickLabels });
  const cursor = useChartCursor({ kind, data, series, ticks, plot, onPick, onZoom });
  const count = data.length;
  const at = cursor.index === undefined ? undefined : data[cursor.index];
  const hasTotal = kind === "bar" && series.length > 1;
  const slot = plot.width / Math.max(1, count);
  const [first, last] = cursor.marked;
  return (
    <div>
      <div className="chart" ref={ref} style={{ height }}>
        {width > 0 && (
          <>
            <svg className="chart-picture" role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} height={height}>
              <Axes {...{ data, ticks, plot, tickLabels }} />
              {first !== undefined && last !== undefined && (
                <rect
                  className="chart-slot"
                  x={xOf(first, { count, plot }) - slot / 2}
                  y={plot.top}
                  width={slot * (last - first + 1)}
                  height={plot.height}
                />
              )}
              {kind === "bar" ? <Bars {...{ data, series, ticks, plot }} /> : <Lines {...{ data, series, ticks, plot }} />}
            </svg>
            <div
              className="chart-cursor"
              data-picks={onPick ? true : undefined}
              style={{ left: plot.left, top: plot.top, width: plot.width, height: plot.height }}
              role="slider"
              tabIndex={0}
              aria-label={`${label}. Arrow keys read the values${onPick ? ", Enter opens the calls" : ""}${onZoom ? ", Shift and arrow keys select a range, Z zooms" : ""}.`}
              aria-valuemin={0}
              aria-valuemax={Math.max(0, count - 1)}
              aria-valuenow={cursor.index ?? 0}
              aria-valuetext={pointText(data[cursor.index ?? 0], { series, format, hasTotal })}
              {...cursor.handlers}
            />
            {at && cursor.index !== undefined && (
              <ChartTooltip
                {...{ plot, series, format, hasTotal, count }}
                point={at}
                index={cursor.index}
                hint={onPick && "Select to see the calls"}
              />
            )}
          </>
        )}
      </div>
      {series.length > 1 && (
        <Group gap="xs" justify="center" mt={4}>
          {series.map(({ name, label: title, color }) => (
            <Group key={name} gap={6} wrap="nowrap" miw={0}>
              <span className="chart-key" style={{ background: cssColor(color) }} />
              <Text size="xs" truncate maw={220}>
                {title}
              </Text>
            </Group>
          ))}
        </Group>
      )}
    </div>
  );
}
