import type { RoutingGroup } from "../../../api/gateway.ts";
import { type Share, sharesOf } from "./shares.ts";

export const WIDTH = 860;
export const GROUP = { x: 130, width: 240, height: 48 } as const;
export const DEPLOYMENT = { x: 520, width: 330, height: 48 } as const;
const ROW = 60;
const GAP = 22;
const LANE = 16;
const LANES_MAX = 6;

export interface PlacedGroup {
  readonly group: RoutingGroup;
  /** The vertical center of its box. */
  readonly y: number;
  readonly deployments: readonly (Share & { readonly y: number })[];
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly kind: "general" | "contextWindow" | "contentPolicy";
  /** Position among fallbacks of its kind, from 1. */
  readonly place: number;
  readonly path: string;
  readonly label: { readonly x: number; readonly y: number };
}

export interface Picture {
  readonly height: number;
  readonly groups: readonly PlacedGroup[];
  readonly arrows: readonly Arrow[];
}

/** Lays out groups on the left, their deployments on the right, and fallbacks as arrows in lanes at the left edge. */
export function layOut(groups: readonly RoutingGroup[]): Picture {
  let top = GAP / 2;
  const placed = groups.map((group): PlacedGroup => {
    const shares = sharesOf(group);
    const height = Math.max(1, shares.length) * ROW;
    const deployments = shares.map((share, index) => ({ ...share, y: top + index * ROW + ROW / 2 }));
    const y = top + height / 2;
    top += height + GAP;
    return { group, y, deployments };
  });
  return { height: top, groups: placed, arrows: arrowsOf(placed) };
}

const KINDS = ["general", "contextWindow", "contentPolicy"] as const;

function arrowsOf(placed: readonly PlacedGroup[]): Arrow[] {
  const yOf = new Map(placed.map(({ group, y }) => [group.name, y]));
  const arrows: Arrow[] = [];
  for (const { group, y: fromY } of placed) {
    for (const kind of KINDS) {
      for (const [index, to] of group.fallbacks[kind].entries()) {
        const toY = yOf.get(to);
        if (toY === undefined || to === group.name) continue;
        const x = GROUP.x - 34 - (arrows.length % LANES_MAX) * LANE;
        // An arrow starts below the center and ends above it, so that the two directions of a cycle are distinct.
        const [startY, endY] = [fromY + 10, toY - 10];
        arrows.push({
          from: group.name,
          to,
          kind,
          place: index + 1,
          path: `M ${GROUP.x} ${startY} C ${x} ${startY}, ${x} ${endY}, ${GROUP.x - 7} ${endY}`,
          // The leftmost point of the curve.
          label: { x: GROUP.x - 0.75 * (GROUP.x - x), y: (startY + endY) / 2 },
        });
      }
    }
  }
  return arrows;
}
