import { useNavigate } from "@tanstack/react-router";
import { spanOfBuckets, type UsageWindow } from "../usage-window.ts";
import { searchOf, useAddress } from "../use-address.ts";
import type { ChartActions } from "./chart-layout.ts";

interface ChartLinks {
  readonly window: Pick<UsageWindow, "interval" | "buckets">;
  readonly timeZone: string;
  /** The log filter that selects the calls of a series, or of the whole chart. */
  readonly filterOf?: (series: string | undefined) => Readonly<Record<string, string>>;
}

/** A bar or point leads to the logs of its time and series; a dragged range becomes the range of the screen. */
export function useChartLinks({ window, timeZone, filterOf }: ChartLinks): ChartActions {
  const navigate = useNavigate();
  const [, setAddress] = useAddress();
  return {
    onPick: (index, series) => {
      const search = { ...spanOfBuckets(window, index, index), tz: timeZone, ...filterOf?.(series) };
      void navigate({ to: "/logs", search: searchOf(search) });
    },
    onZoom: window.buckets.length > 1 ? (first, last) => setAddress(spanOfBuckets(window, first, last)) : undefined,
  };
}
