import { Badge, Group, Paper, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ApiError } from "../../api/client.ts";
import { contentQuery } from "../../api/contents.ts";
import type { UsageLog } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { contentParts } from "./content-parts.ts";
import { ReplayCall } from "./replay-call.tsx";

/** Prompt and answer of a call. It is mounted only on request, because each read is in the audit log. */
export function CallContent({ log }: { log: UsageLog }) {
  const { data, error } = useQuery(contentQuery(log.id));
  if (error instanceof ApiError && error.status === 404) return <Text size="sm">{error.message}</Text>;
  if (error) return <Failure error={error} />;
  if (!data) return <Skeleton height={120} />;
  return (
    <Stack gap="xs">
      <Texts fields={data.prompt} isCut={data.promptTruncated} />
      {data.answer ? (
        <Texts fields={data.answer} isCut={data.answerTruncated} />
      ) : (
        <Text size="sm">No answer, or one that is not text.</Text>
      )}
      <Text size="xs" c="dimmed">
        Personal data and credentials are redacted. Removed at {new Date(data.expiresAt).toISOString()}.
      </Text>
      <ReplayCall log={log} content={data} />
    </Stack>
  );
}

function Texts({ fields, isCut }: { fields: Readonly<Record<string, unknown>>; isCut: boolean }) {
  return (
    <>
      {contentParts(fields).map(({ key, title, text }) => (
        <Paper key={key} withBorder p="xs">
          <Text size="xs" fw={600}>
            {title}
          </Text>
          <Text size="sm" ff="monospace" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
            {text}
          </Text>
        </Paper>
      ))}
      {isCut && (
        <Group>
          <Badge variant="default" tt="none">
            cut at 64 KB
          </Badge>
        </Group>
      )}
    </>
  );
}
