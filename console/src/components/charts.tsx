import "@mantine/charts/styles.css";
import { AreaChart, BarChart, ChartTooltip, LineChart } from "@mantine/charts";
import { Box, Group, Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { axisTicks, axisUsd } from "./axis-ticks.ts";

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
  /** True for amounts in USD: the labels of the axis have the decimals of its step. */
  isMoney?: boolean;
  height?: number;
}

/** Draws numbers over time. It is a lazy chunk, because charts are most of the console's size. */
export function TimeChart({
  label,
  kind,
  data,
  series,
  format,
  isStacked = false,
  isCount = false,
  isMoney = false,
  height = 220,
}: TimeChartProps) {
  const ticks = axisTicks(largest({ data, series, isStacked }), isCount);
  // A curve may be of any range; sums begin at zero.
  const axis = kind === "line" ? {} : { ticks, domain: [0, ticks.at(-1) || 1] };
  const shared = {
    h: height,
    data,
    dataKey: "label",
    series: [...series],
    valueFormatter: format,
    withLegend: series.length > 1,
    tickLine: "none" as const,
    gridAxis: "x" as const,
    yAxisProps: {
      width: 84,
      allowDecimals: !isCount,
      ...axis,
      ...(isMoney ? { tickFormatter: (value: number) => axisUsd(value, ticks) } : {}),
    },
    ...(isStacked && series.length > 1 ? { tooltipProps: { content: totalTooltip(series, format) } } : {}),
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

function largest({ data, series, isStacked }: Pick<TimeChartProps, "data" | "series" | "isStacked">): number {
  const values = (point: Record<string, string | number>) => series.map(({ name }) => Number(point[name] ?? 0));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return Math.max(0, ...data.map((point) => (isStacked ? sum(values(point)) : Math.max(...values(point)))));
}

interface TooltipInput {
  readonly label?: ReactNode;
  readonly payload?: readonly { readonly name?: string | number; readonly value?: unknown }[] | undefined;
}

/** The tooltip of a stack also has the height of the whole stack. */
const totalTooltip =
  (series: readonly Series[], format: (value: number) => string) =>
  ({ label, payload = [] }: TooltipInput) => (
    <Paper withBorder shadow="sm" radius="md">
      <ChartTooltip label={label} payload={[...payload]} series={[...series]} valueFormatter={format} styles={{ tooltip: { border: 0 } }} />
      <Group justify="space-between" px="sm" pb="xs">
        <Text size="sm" fw={600}>
          Total
        </Text>
        <Text size="sm" fw={600}>
          {format(payload.reduce((sum, { value }) => sum + Number(value ?? 0), 0))}
        </Text>
      </Group>
    </Paper>
  );

const CHART_PROPS = { area: "areaChartProps", bar: "barChartProps", line: "lineChartProps" } as const;
