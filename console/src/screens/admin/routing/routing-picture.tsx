import { useId } from "react";
import type { RoutingGroup } from "../../../api/gateway.ts";
import { type Arrow, DEPLOYMENT, GROUP, layOut, type PlacedGroup, WIDTH } from "./picture-layout.ts";
import "./routing-picture.css";
import { healthText } from "./shares.ts";

const NAME_MAX = 28;
const MODEL_MAX = 36;

/** A diagram of model groups, deployments and fallbacks. The table below it has the same content for screen readers. */
export function RoutingPicture({ groups }: { groups: readonly RoutingGroup[] }) {
  const { height, groups: placed, arrows } = layOut(groups);
  const id = useId();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="routing-picture" tabIndex={0} aria-label="Routing diagram">
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        style={{ minWidth: 640 }}
        role="img"
        aria-label={`Routes of ${groups.length} models, also listed below`}
      >
        <defs>
          <marker id={id} viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M 0 0 L 8 4 L 0 8 z" className="routing-arrow-head" />
          </marker>
        </defs>
        {placed.map((each) => (
          <GroupBox key={each.group.name} placed={each} />
        ))}
        {arrows.map((arrow) => (
          <FallbackArrow key={`${arrow.from}/${arrow.kind}/${arrow.to}`} arrow={arrow} marker={id} />
        ))}
      </svg>
    </section>
  );
}

function GroupBox({ placed: { group, y, deployments } }: { placed: PlacedGroup }) {
  const joint = GROUP.x + GROUP.width;
  return (
    <g>
      {deployments.map(({ deployment, share, turn, y: otherY }) => {
        const isUp = deployment.health.state === "up";
        const middle = (joint + DEPLOYMENT.x) / 2;
        return (
          <g key={deployment.id}>
            <path
              className={`routing-way${turn > 1 ? " later" : ""}${isUp ? "" : " ill"}`}
              d={`M ${joint} ${y} C ${middle} ${y}, ${middle} ${otherY}, ${DEPLOYMENT.x} ${otherY}`}
              strokeWidth={1.5 + 4 * (share ?? 0.25)}
            />
            <text className="routing-share" x={DEPLOYMENT.x - 8} y={otherY + 4} textAnchor="end">
              {shareText(share, turn)}
            </text>
            <rect
              className={`routing-box${isUp ? "" : " ill"}`}
              x={DEPLOYMENT.x}
              y={otherY - DEPLOYMENT.height / 2}
              width={DEPLOYMENT.width}
              height={DEPLOYMENT.height}
              rx={8}
            />
            <circle className={isUp ? "routing-up" : "routing-ill"} cx={DEPLOYMENT.x + 16} cy={otherY - 8} r={4.5} />
            <text className="routing-name" x={DEPLOYMENT.x + 28} y={otherY - 4}>
              {short(`${deployment.provider} · ${deployment.inferenceModelId}`, MODEL_MAX)}
            </text>
            <text className="routing-note" x={DEPLOYMENT.x + 28} y={otherY + 14}>
              {short(healthText(deployment), MODEL_MAX + 8)}
            </text>
          </g>
        );
      })}
      <rect className="routing-box group" x={GROUP.x} y={y - GROUP.height / 2} width={GROUP.width} height={GROUP.height} rx={8} />
      <text className="routing-name" x={GROUP.x + 14} y={y - 4}>
        {short(group.name, NAME_MAX)}
      </text>
      <text className="routing-note" x={GROUP.x + 14} y={y + 14}>
        {deployments.length > 1 ? group.strategy : "one deployment"}
      </text>
    </g>
  );
}

function FallbackArrow({ arrow: { kind, place, path, label }, marker }: { arrow: Arrow; marker: string }) {
  return (
    <g>
      <path className={`routing-fallback ${kind}`} d={path} markerEnd={`url(#${marker})`} />
      <text className="routing-share" x={label.x} y={label.y + 4} textAnchor="middle">
        {LABELS[kind](place)}
      </text>
    </g>
  );
}

const LABELS = {
  general: (place: number) => `${place}.`,
  contextWindow: () => "too long",
  contentPolicy: () => "policy",
} as const;

const shareText = (share: number | undefined, turn: number): string =>
  [turn > 1 ? `order ${turn}` : "", share === undefined ? "" : `${Math.round(share * 100)}%`].filter(Boolean).join(", ");

const short = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);
