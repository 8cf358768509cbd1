import { Skeleton } from "@mantine/core";
import { type ComponentProps, lazy, Suspense } from "react";
import type { TimeChart } from "./charts.tsx";

const Loaded = lazy(async () => ({ default: (await import("./charts.tsx")).TimeChart }));

/** A chart whose code is loaded on first use, with a skeleton of the same size meanwhile. */
export function LazyChart(props: ComponentProps<typeof TimeChart>) {
  return (
    <Suspense fallback={<Skeleton height={props.height ?? 220} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
