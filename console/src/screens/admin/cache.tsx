import { Button, Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconDatabase } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type CacheState, cacheQuery } from "../../api/gateway.ts";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { count, formatBytes, formatMs } from "../../format/words.ts";
import { useAdminChange } from "./use-admin-change.ts";

/** Answers that are kept, how often that helped, and the way to forget them. */
export function Cache() {
  const { data, error } = useQuery(cacheQuery);
  const clearing = useAdminChange();
  if (data?.settings === null) {
    return (
      <Empty icon={IconDatabase} title="Answers are not kept">
        With cache: true under litellm_settings in the configuration file, or CACHE=memory, the same question of an organisation is answered
        once and paid once.
      </Empty>
    );
  }
  return (
    <Stack>
      <Failure error={error ?? clearing.error} />
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat
          name="Hit rate"
          value={data && hitRate(data)}
          note={data && `${count(data.hits, "hit")}, ${count(data.misses, "miss", "misses")}`}
        />
        <Stat
          name="Kept in"
          value={data?.settings && (data.settings.type === "redis" ? "Redis" : "memory")}
          note={data?.settings?.type === "redis" ? "shared by every edge" : "each edge its own"}
        />
        <Stat name="Kept for" value={data?.settings && formatMs(data.settings.ttlSeconds * 1000)} note="then asked again" />
        <Stat name="Failures" value={data && count(data.failures, "command")} note="a failure is a miss, never an error" />
      </SimpleGrid>
      {data?.held && <Held held={data.held} />}
      {data?.settings && (
        <Text size="sm">
          Kept are {data.settings.operations.join(", ")}, {data.settings.byDefault ? "unless a call says no" : "when a call asks for it"}.{" "}
          <Text span c="dimmed" size="sm">
            Figures of edge {data.edge} since its start.
          </Text>
        </Text>
      )}
      <Group>
        <Button
          variant="default"
          loading={clearing.isPending}
          onClick={() =>
            clearing.mutate({ method: "POST", path: "cache/clear", body: {}, done: "Every edge forgets the answers it kept." })
          }
        >
          Clear the cache
        </Button>
        <Text size="sm" c="dimmed">
          At every edge. Nobody loses anything but a cheap answer.
        </Text>
      </Group>
    </Stack>
  );
}

function Held({ held: { entries, bytes, bytesMax } }: { held: NonNullable<CacheState["held"]> }) {
  return (
    <div>
      <Text size="sm" mb={4}>
        {count(entries, "answer")}, {formatBytes(bytes)} of {formatBytes(bytesMax)}
      </Text>
      <Progress value={(100 * bytes) / bytesMax} aria-label="Share of the memory that is used" />
    </div>
  );
}

function hitRate({ hits, misses }: CacheState): string {
  return hits + misses === 0 ? "no calls" : `${((100 * hits) / (hits + misses)).toFixed(1)}%`;
}
