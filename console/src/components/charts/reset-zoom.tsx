import { Button } from "@mantine/core";
import { useAddress } from "../use-address.ts";

/** Returns from a dragged range to the named one. */
export function ResetZoom() {
  const [{ from, to }, setAddress] = useAddress();
  if (from === undefined || to === undefined) return null;
  return (
    <Button size="xs" variant="default" onClick={() => setAddress({ from: undefined, to: undefined })}>
      Reset zoom
    </Button>
  );
}
