import { type ChartPoint, cssColor, labelEvery, type Plot, type Series, segmentsOf, valueIn, xOf, yOf } from "./chart-layout.ts";

interface MarksProps {
  data: readonly ChartPoint[];
  series: readonly Series[];
  ticks: readonly number[];
  plot: Plot;
}

const BAR_SHARE = 0.72;
const BAR_PX_MAX = 48;
const DOTS_MAX = 60;
const VISIBLE_PX = 1.5;

export function Axes({ data, ticks, plot, tickLabels }: Omit<MarksProps, "series"> & { tickLabels: readonly string[] }) {
  const labels = data.map(({ label }) => String(label));
  const every = labelEvery({ labels, plot });
  return (
    <g className="chart-text numbers">
      {ticks.map((tick, index) => {
        const y = yOf(tick, { ticks, plot });
        return (
          <g key={tick}>
            <line className="chart-grid" x1={plot.left} x2={plot.left + plot.width} y1={y} y2={y} />
            <text x={plot.left - 8} y={y} textAnchor="end" dominantBaseline="central">
              {tickLabels[index]}
            </text>
          </g>
        );
      })}
      {labels.map((label, index) =>
        index % every === 0 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a point is its place in time, and labels repeat
          <text key={index} x={xOf(index, { count: data.length, plot })} y={plot.top + plot.height + 18} textAnchor="middle">
            {label}
          </text>
        ) : null,
      )}
    </g>
  );
}

export function Bars({ data, series, ticks, plot }: MarksProps) {
  const width = Math.min(BAR_PX_MAX, (plot.width / data.length) * BAR_SHARE);
  return data.map((point, index) =>
    segmentsOf(point, series).map(({ series: { name, color }, from, to }) => {
      const top = yOf(to, { ticks, plot });
      return (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: a point is its place in time
          key={`${index}/${name}`}
          x={xOf(index, { count: data.length, plot }) - width / 2}
          y={top}
          width={width}
          // One failed call among a thousand still has a visible part.
          height={Math.max(VISIBLE_PX, yOf(from, { ticks, plot }) - top)}
          fill={cssColor(color)}
        />
      );
    }),
  );
}

export function Lines({ data, series, ticks, plot }: MarksProps) {
  return series.map((each) => {
    const points = data.flatMap((point, index) => {
      const value = valueIn(point, each);
      return value === undefined ? [] : [{ x: xOf(index, { count: data.length, plot }), y: yOf(value, { ticks, plot }) }];
    });
    return (
      <g key={each.name}>
        <polyline className="chart-line" stroke={cssColor(each.color)} points={points.map(({ x, y }) => `${x},${y}`).join(" ")} />
        {(data.length < DOTS_MAX || points.length === 1) &&
          points.map(({ x, y }) => <circle key={x} cx={x} cy={y} r={3} fill={cssColor(each.color)} />)}
      </g>
    );
  });
}
