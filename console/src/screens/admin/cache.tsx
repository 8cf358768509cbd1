import { Button, Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconDatabase } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type CacheState, cacheQuery } from "../../api/gateway.ts";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { count, formatBytes, formatMs } from "../../format/text.ts";
import { CacheForm } from "./cache/cache-form.tsx";
import { fileLabel } from "./source-labels.ts";
import { useAdminChange } from "./use-admin-change.ts";

/** Settings and hit counts of the response cache, where they can be changed if the configuration file does not set them. */
export function Cache() {
  const { data, error } = useQuery(cacheQuery);
  const [isEdited, setEdited] = useState(false);
  const clearing = useAdminChange();
  const canEdit = data !== undefined && data.configured.source !== "configuration";
  const form = canEdit && isEdited && <CacheForm configured={data.configured} onClose={() => setEdited(false)} />;
  if (data?.settings === null) {
    return (
      <>
        <Empty
          icon={IconDatabase}
          title="The response cache is off"
          action={canEdit && <Button onClick={() => setEdited(true)}>Set up the cache</Button>}
        >
          With it, identical requests of an organization are answered and billed only once.{" "}
          {!canEdit && `It is set ${fileLabel(data.configured.file)}: change it there.`}
        </Empty>
        {form}
      </>
    );
  }
  return (
    <Stack>
      <Failure error={error ?? clearing.error} />
      {data && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            Settings: {sourceText(data.configured)}
          </Text>
          {canEdit && (
            <Button variant="default" onClick={() => setEdited(true)}>
              Edit cache
            </Button>
          )}
        </Group>
      )}
      <Figures data={data} />
      {data && <Semantic semantic={data.semantic} />}
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
      {form}
    </Stack>
  );
}

function Figures({ data }: { data: CacheState | undefined }) {
  return (
    <>
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
    </>
  );
}

function Semantic({ semantic }: Pick<CacheState, "semantic">) {
  if (!semantic) {
    return (
      <Text size="sm" c="dimmed">
        Similar texts are not compared: there is no semantic cache.
      </Text>
    );
  }
  const { forAll, threshold, embeddingModel, problem, hits, misses, vectors } = semantic;
  return (
    <Text size="sm">
      Semantic cache {forAll ? "for all organizations that do not turn it off" : "for organizations that turn it on"}: threshold {threshold}
      , vectors of {embeddingModel}, hit rate {hitRate({ hits, misses })}, {count(vectors, "vector")}.
      {problem && (
        <Text span size="sm" c="var(--mantine-color-error)">
          {" "}
          {problem}
        </Text>
      )}
    </Text>
  );
}

function sourceText({ source, file, environment }: CacheState["configured"]): string {
  if (source === "configuration") return fileLabel(file);
  const stored = source === "catalog" ? "set here" : "defaults";
  return environment ? `${stored}, turned on by CACHE=${environment}` : stored;
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

function hitRate({ hits, misses }: Pick<CacheState, "hits" | "misses">): string {
  return hits + misses === 0 ? "no calls" : `${((100 * hits) / (hits + misses)).toFixed(1)}%`;
}
