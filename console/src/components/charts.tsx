import "@mantine/charts/styles.css";
import { AreaChart, BarChart, LineChart } from "@mantine/charts";
import { Box } from "@mantine/core";

export interface Series {
  readonly name: string;
  readonly label: string;
  readonly color: string;
}

interface TimeChartProps {
  /** Text alternative of the chart. */
  label: string;
  kind: "area" | "bar" | "line";
  data: Record<string, string | number>[];
  series: readonly Series[];
  format: (value: number) => string;
  isStacked?: boolean;
  /** True for counts: the axis shows whole numbers only. */
  isCount?: boolean;
  height?: number;
}

/** Draws numbers over time. It is a lazy chunk, because charts are most of the console's size. */
export function TimeChart({ label, kind, data, series, format, isStacked = false, isCount = false, height = 220 }: TimeChartProps) {
  const shared = {
    h: height,
    data,
    dataKey: "label",
    series: [...series],
    valueFormatter: format,
    withLegend: series.length > 1,
    tickLine: "none" as const,
    gridAxis: "x" as const,
    yAxisProps: { width: 84, allowDecimals: !isCount },
    xAxisProps: { minTickGap: 24 },
    // Charts take no keyboard focus, because the tables beside them have the same numbers.
    [CHART_PROPS[kind]]: { accessibilityLayer: false },
  };
  return (
    <Box role="img" aria-label={label}>
      {kind === "area" && (
        <AreaChart {...shared} type={isStacked ? "stacked" : "default"} curveType="monotone" withDots={false} fillOpacity={0.25} />
      )}
      {kind === "bar" && <BarChart {...shared} type={isStacked ? "stacked" : "default"} />}
      {kind === "line" && <LineChart {...shared} curveType="linear" withDots={data.length < 60} connectNulls />}
    </Box>
  );
}

const CHART_PROPS = { area: "areaChartProps", bar: "barChartProps", line: "lineChartProps" } as const;
