import { Badge, Button, Drawer, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { get } from "../../api/client.ts";
import type { SignedReceipt, UsageLog } from "../../api/types.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { searchOf } from "../../components/use-address.ts";
import { groupTagsOf } from "../session/session-calls.ts";
import { callCurl } from "./call-curl.ts";
import { CallSteps } from "./call-steps.tsx";

const CallContent = lazy(async () => ({ default: (await import("./call-content.tsx")).CallContent }));

/** Details of one call: its steps and a curl command to repeat it. */
export function CallPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const path = `/api/gw/logs/${encodeURIComponent(id)}`;
  const call = useQuery({
    queryKey: ["log", id],
    queryFn: async ({ signal }) => (await get<{ log: UsageLog }>(path, undefined, signal)).log,
  });
  const receipt = useQuery({
    queryKey: ["log", id, "receipt"],
    queryFn: ({ signal }) => get<SignedReceipt>(`${path}/receipt`, undefined, signal),
  });
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title="Call details">
      <Stack>
        <Failure error={call.error ?? receipt.error} />
        {!call.data && !call.error && <Skeleton height={320} />}
        {call.data && <Facts log={call.data} signed={receipt.data} />}
      </Stack>
    </Drawer>
  );
}

function Facts({ log, signed }: { log: UsageLog; signed: SignedReceipt | undefined }) {
  return (
    <>
      <div>
        <Group gap="xs">
          <StateBadge state={log.status} />
          <Text size="sm">
            {log.endpoint}
            {log.stream ? ", streamed" : ""}
          </Text>
        </Group>
        <Group gap={4} wrap="nowrap">
          <Text size="xs" ff="monospace" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {log.id}
          </Text>
          <CopyText text={log.id} label="Copy call ID" />
        </Group>
        <Text size="sm" c="dimmed">
          {new Date(log.createdAt).toISOString()}
        </Text>
        {log.tags.map((tag) => (
          <Badge
            key={tag}
            component={Link}
            to="/logs"
            search={searchOf({ tag })}
            variant="default"
            tt="none"
            mr={4}
            style={{ cursor: "pointer" }}
            title="Show all calls with this tag"
          >
            {tag}
          </Badge>
        ))}
        {groupTagsOf(log.tags).map(({ tag, group }) => (
          <Button
            key={tag}
            component={Link}
            to="/session"
            search={searchOf({ tag })}
            variant="default"
            size="compact-xs"
            mr={4}
            leftSection={<IconRoute size={14} aria-hidden />}
          >
            Open {group}
          </Button>
        ))}
      </div>
      <CallSteps log={log} signed={signed} />
      {log.status !== "refused" && <ContentOnRequest log={log} key={log.id} />}
      <Title order={3} size="h6">
        Repeat this call
      </Title>
      <CodeBlock code={callCurl(log, window.location.origin)} label="Copy as curl" />
    </>
  );
}

function ContentOnRequest({ log }: { log: UsageLog }) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <Title order={3} size="h6">
        Prompt and answer
      </Title>
      {isShown ? (
        <Suspense fallback={<Skeleton height={120} />}>
          <CallContent log={log} />
        </Suspense>
      ) : (
        <Button variant="light" onClick={() => setShown(true)}>
          Show prompt and answer
        </Button>
      )}
    </>
  );
}
