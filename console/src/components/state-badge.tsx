import { Badge } from "@mantine/core";

const GOOD = new Set(["active", "completed", "success", "up", "accepted", "published", "running"]);
const BAD = new Set(["blocked", "failed", "error", "down", "expired", "rejected"]);

/** A state by word first, colour second. */
export function StateBadge({ state }: { state: string }) {
  const color = GOOD.has(state) ? "teal" : BAD.has(state) ? "red" : "gray";
  return (
    <Badge color={color} variant="dot" size="sm" tt="none" miw="max-content">
      {state}
    </Badge>
  );
}
