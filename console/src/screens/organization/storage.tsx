import { Progress, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { storageQuery } from "../../api/queries.ts";
import { Card } from "../../components/card.tsx";
import { Failure } from "../../components/failure.tsx";
import { formatBytes } from "../../format/text.ts";

/** Bytes of files and blobs, each as a bar of its limit. */
export function Storage() {
  const { data, error } = useQuery(storageQuery);
  const away = data?.blobs.places.filter(({ used }) => used === null).map(({ place }) => place) ?? [];
  return (
    <Card title="Storage" about="Delete files or blobs to make room.">
      <Stack gap="sm">
        <Failure error={error} />
        {!data && !error && <Skeleton height={72} />}
        {data && <Use name="Files" {...data.files} />}
        {data && <Use name="Training blobs" {...data.blobs} />}
        {away.length > 0 && (
          <Text size="sm" c="dimmed">
            Not counted, because it does not answer: {away.join(", ")}
          </Text>
        )}
      </Stack>
    </Card>
  );
}

function Use({ name, used, limit }: { name: string; used: number; limit: number }) {
  return (
    <div>
      <Text size="sm">
        {name}: {formatBytes(used)} of {formatBytes(limit)}
      </Text>
      <Progress value={limit === 0 ? 0 : Math.min(100, (100 * used) / limit)} aria-label={`${name} used`} />
    </div>
  );
}
