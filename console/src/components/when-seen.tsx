import { useInViewport } from "@mantine/hooks";
import { type ReactNode, useEffect, useState } from "react";

/** Renders its content when it is first scrolled into view, so that a page does not load what is below the window. */
export function WhenSeen({ height, children }: { height: number; children: ReactNode }) {
  const { ref, inViewport } = useInViewport();
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    if (inViewport) setSeen(true);
  }, [inViewport]);
  return (
    <div ref={ref} style={wasSeen ? undefined : { minHeight: height }}>
      {wasSeen && children}
    </div>
  );
}
