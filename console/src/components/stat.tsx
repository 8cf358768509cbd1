import { Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** One metric with its unit and a note. */
export function Stat({ name, value, note }: { name: string; value: ReactNode | undefined; note?: ReactNode }) {
  return (
    <div className="card" style={{ padding: "14px 16px" }}>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      {value === undefined ? (
        <Skeleton height={28} my={4} width="60%" />
      ) : (
        <Text component="div" fz={{ base: 19, sm: 24 }} style={{ overflowWrap: "anywhere" }} fw={650} className="numbers" lh={1.35}>
          {value}
        </Text>
      )}
      <Text component="div" size="xs" c="dimmed" mih={18}>
        {note}
      </Text>
    </div>
  );
}
