import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { type ChartActions, type ChartPoint, indexAt, type Plot, type Series, seriesAt } from "./chart-layout.ts";
import { PrimaryPress } from "./primary-press.ts";

interface CursorInput extends ChartActions {
  kind: "bar" | "line";
  data: readonly ChartPoint[];
  series: readonly Series[];
  ticks: readonly number[];
  plot: Plot;
}

interface Place {
  readonly index: number;
  /** Where a drag or a selection with Shift began. */
  readonly anchor: number | undefined;
}

/** The point under the pointer or chosen by arrow keys, and the range that is being selected. */
export function useChartCursor({ kind, data, series, ticks, plot, onPick, onZoom }: CursorInput) {
  const [place, setPlace] = useState<Place | undefined>();
  const { current: press } = useRef(new PrimaryPress());
  const count = data.length;
  // Live data may have fewer points than when the pointer came.
  const index = place && Math.min(place.index, count - 1);
  const first = place?.anchor === undefined || index === undefined ? index : Math.min(place.anchor, index);
  const last = place?.anchor === undefined || index === undefined ? index : Math.max(place.anchor, index);

  const pointed = (event: PointerEvent<HTMLElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    return { index: indexAt(event.clientX - left + plot.left, { count, plot }), y: event.clientY - top + plot.top };
  };

  const zoom = () => {
    if (onZoom && first !== undefined && last !== undefined) onZoom(first, last);
    setPlace(undefined);
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = count === 0 ? undefined : movedTo(event.key, { index, count });
    const act =
      next === undefined
        ? actions[event.key]
        : () => setPlace({ index: next, anchor: event.shiftKey && onZoom ? (place?.anchor ?? index ?? 0) : undefined });
    if (!act) return;
    event.preventDefault();
    act();
  };
  const isPlaced = index !== undefined;
  const actions: Readonly<Record<string, (() => void) | undefined>> = {
    Enter: isPlaced && onPick ? () => onPick(index, undefined) : undefined,
    z: isPlaced && onZoom ? zoom : undefined,
    Escape: isPlaced ? () => setPlace(undefined) : undefined,
  };

  return {
    index,
    marked: [first, last] as const,
    handlers: {
      onKeyDown,
      onBlur: () => setPlace(undefined),
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        if (count === 0 || !press.begin(event)) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = pointed(event).index;
        setPlace({ index: at, anchor: onZoom ? at : undefined });
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        if (count === 0) return;
        const at = pointed(event).index;
        setPlace((before) => ({ index: at, anchor: event.buttons === 0 ? undefined : before?.anchor }));
      },
      onPointerUp: (event: PointerEvent<HTMLElement>) => {
        if (!press.end(event)) return;
        const { index: at, y } = pointed(event);
        if (place?.anchor !== undefined && place.anchor !== at) {
          zoom();
          return;
        }
        setPlace({ index: at, anchor: undefined });
        const point = data[at];
        if (onPick && point) onPick(at, seriesAt({ kind, point, series, y, ticks, plot })?.name);
      },
      onPointerLeave: (event: PointerEvent<HTMLElement>) => {
        if (event.buttons === 0) setPlace(undefined);
      },
      onPointerCancel: () => {
        press.cancel();
        setPlace(undefined);
      },
    },
  };
}

/** The point that a key leads to, as with every slider. */
export function movedTo(key: string, { index, count }: { index: number | undefined; count: number }): number | undefined {
  const before = Math.max(0, (index ?? 0) - 1);
  const after = index === undefined ? 0 : Math.min(count - 1, index + 1);
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: before,
    ArrowDown: before,
    ArrowRight: after,
    ArrowUp: after,
    Home: 0,
    End: count - 1,
  };
  return moves[key];
}
