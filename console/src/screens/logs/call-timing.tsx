import { Progress, Text } from "@mantine/core";
import type { UsageLog } from "../../api/types.ts";
import { formatMs } from "../../format/text.ts";

/** Latency of a call, split into gateway overhead, time to first token and generation. */
export function CallTiming({ log: { latencyMs, firstTokenMs, overheadUs, stream } }: { log: UsageLog }) {
  const gateway = Math.min(overheadUs / 1000, latencyMs);
  const first = stream && firstTokenMs !== null ? Math.max(0, Math.min(firstTokenMs, latencyMs) - gateway) : undefined;
  const parts = [
    { name: "gateway", ms: gateway, color: "river.7" },
    ...(first === undefined
      ? [{ name: "provider", ms: latencyMs - gateway, color: "orange.7" }]
      : [
          { name: "time to first token", ms: first, color: "orange.7" },
          { name: "generation", ms: Math.max(0, latencyMs - gateway - first), color: "green.8" },
        ]),
  ];
  return (
    <div>
      <Progress.Root size="sm" mt={4} aria-hidden>
        {parts.map(({ name, ms, color }) => (
          <Progress.Section key={name} value={latencyMs === 0 ? 0 : (100 * ms) / latencyMs} color={color} />
        ))}
      </Progress.Root>
      <Text size="sm" c="dimmed">
        {formatMs(latencyMs)} total: {parts.map(({ name, ms }) => `${name} ${ms < 10 ? `${ms.toFixed(2)} ms` : formatMs(ms)}`).join(", ")}.
      </Text>
    </div>
  );
}
