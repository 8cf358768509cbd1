import { Button, Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconDatabase } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type CacheState, cacheQuery } from "../../api/gateway.ts";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { count, formatBytes, formatMs } from "../../format/text.ts";
import { useAdminChange } from "./use-admin-change.ts";

/** Settings and hit counts of the response cache, and a button to clear it. */
export function Cache() {
  const { data, error } = useQuery(cacheQuery);
  const clearing = useAdminChange();
  if (data?.settings === null) {
    return (
      <Empty icon={IconDatabase} title="The response cache is off">
        Set cache: true under litellm_settings in the configuration file, or CACHE=memory, to answer and bill identical requests of an
        organization only once.
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
          name="Cache type"
          value={data?.settings && (data.settings.type === "redis" ? "Redis" : "Memory")}
          note={data?.settings?.type === "redis" ? "shared by all edges" : "one per edge"}
        />
        <Stat name="TTL" value={data?.settings && formatMs(data.settings.ttlSeconds * 1000)} note="until an entry expires" />
        <Stat name="Failures" value={data && count(data.failures, "command")} note="counted as misses" />
      </SimpleGrid>
      {data?.held && <CacheMemory held={data.held} />}
      {data?.settings && (
        <Text size="sm">
          Cached operations: {data.settings.operations.join(", ")},{" "}
          {data.settings.byDefault ? "unless a call opts out" : "if a call opts in"}.{" "}
          <Text span c="dimmed" size="sm">
            Counts of edge {data.edge} since its start.
          </Text>
        </Text>
      )}
      <Group>
        <Button
          variant="default"
          loading={clearing.isPending}
          onClick={() => clearing.mutate({ method: "POST", path: "cache/clear", body: {}, done: "The cache is cleared on every edge." })}
        >
          Clear cache
        </Button>
        <Text size="sm" c="dimmed">
          Clears the cache on every edge.
        </Text>
      </Group>
    </Stack>
  );
}

function CacheMemory({ held: { entries, bytes, bytesMax } }: { held: NonNullable<CacheState["held"]> }) {
  return (
    <div>
      <Text size="sm" mb={4}>
        {count(entries, "entry", "entries")}, {formatBytes(bytes)} of {formatBytes(bytesMax)}
      </Text>
      <Progress value={(100 * bytes) / bytesMax} aria-label="Cache memory used" />
    </div>
  );
}

function hitRate({ hits, misses }: CacheState): string {
  return hits + misses === 0 ? "no calls" : `${((100 * hits) / (hits + misses)).toFixed(1)}%`;
}
