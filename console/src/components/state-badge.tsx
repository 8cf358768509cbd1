import { Badge } from "@mantine/core";

const GOOD = new Set(["active", "completed", "success", "up", "accepted", "published", "running", "ready", "committed", "ok", "delivered"]);
const BAD = new Set(["blocked", "failed", "error", "down", "expired", "rejected", "cooling", "firing"]);
const WARNING = new Set(["probing", "masked", "degraded", "not ready", "silent", "excluded"]);

/** A state as text and color, so that the color is never the only sign. */
export function StateBadge({ state }: { state: string }) {
  const color = GOOD.has(state) ? "teal" : BAD.has(state) ? "red" : WARNING.has(state) ? "orange" : "gray";
  return (
    <Badge color={color} variant="dot" size="sm" tt="none" miw="max-content">
      {state}
    </Badge>
  );
}
