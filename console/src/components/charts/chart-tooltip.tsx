import { Group, Text } from "@mantine/core";
import { type ChartPoint, cssColor, type Plot, type Series, totalOf, valueIn, xOf } from "./chart-layout.ts";

interface ChartTooltipProps {
  point: ChartPoint;
  index: number;
  count: number;
  plot: Plot;
  series: readonly Series[];
  format: (value: number) => string;
  /** True for amounts that add up. */
  hasTotal: boolean;
  hint: string | undefined;
}

/** The numbers of one point in time, on the side of the picture with more room. */
export function ChartTooltip({ point, index, count, plot, series, format, hasTotal, hint }: ChartTooltipProps) {
  const x = xOf(index, { count, plot });
  const isRight = x > plot.left + plot.width / 2;
  const known = series.filter((each) => valueIn(point, each) !== undefined);
  return (
    <div className="chart-tooltip" aria-hidden style={isRight ? { right: `calc(100% - ${x - 12}px)` } : { left: x + 12 }}>
      <Text size="sm" fw={600} mb={4}>
        {point.label}
      </Text>
      {known.length === 0 && <Text size="sm">no calls</Text>}
      {known.map((each) => (
        <Line key={each.name} label={each.label} color={each.color} value={format(valueIn(point, each) ?? 0)} />
      ))}
      {hasTotal && known.length > 0 && <Line label="Total" value={format(totalOf(point, series))} />}
      {hint && (
        <Text size="xs" c="dimmed" mt={4}>
          {hint}
        </Text>
      )}
    </div>
  );
}

function Line({ label, value, color }: { label: string; value: string; color?: string }) {
  return (
    <Group gap="xs" wrap="nowrap" justify="space-between">
      <Group gap={6} wrap="nowrap" miw={0}>
        {color && <span className="chart-key" style={{ background: cssColor(color) }} />}
        <Text size="sm" truncate fw={color ? undefined : 600}>
          {label}
        </Text>
      </Group>
      <Text size="sm" className="numbers amount" fw={color ? undefined : 600}>
        {value}
      </Text>
    </Group>
  );
}

/** The point in words, for screen readers. */
export function pointText(
  point: ChartPoint | undefined,
  { series, format, hasTotal }: Pick<ChartTooltipProps, "series" | "format" | "hasTotal">,
): string {
  if (!point) return "no data";
  const known = series.filter((each) => valueIn(point, each) !== undefined);
  const parts = known.map((each) => `${each.label} ${format(valueIn(point, each) ?? 0)}`);
  if (hasTotal && known.length > 0) parts.push(`total ${format(totalOf(point, series))}`);
  return `${point.label}: ${parts.length === 0 ? "no calls" : parts.join(", ")}`;
}
