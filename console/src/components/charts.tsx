import "@mantine/charts/styles.css";
import { AreaChart, BarChart, LineChart } from "@mantine/charts";
import { Box } from "@mantine/core";

export interface Series {
  readonly name: string;
  readonly label: string;
  readonly color: string;
}

interface TimeChartProps {
  /** What the picture shows, in words, for those who do not see it. */
  label: string;
  kind: "area" | "bar" | "line";
  data: Record<string, string | number>[];
  series: readonly Series[];
  format: (value: number) => string;
  isStacked?: boolean;
  /** Whole things: half a call on the axis means nothing. */
  isCount?: boolean;
  height?: number;
}

/** The one way numbers over time are drawn. Loaded apart: charts are most of the console's weight. */
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
    // Focus belongs to the page's controls; the numbers are in the tables beside the pictures.
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
