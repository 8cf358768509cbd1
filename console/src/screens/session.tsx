import "./session/session.css";
import { Anchor, Button, Group, SegmentedControl, SimpleGrid, Text } from "@mantine/core";
import { IconListDetails, IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Query } from "../api/client.ts";
import { meQuery } from "../api/queries.ts";
import type { Totals, UsageLog } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { type Column, DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Usd } from "../components/usd.tsx";
import { searchOf, useAddress } from "../components/use-address.ts";
import { count, formatMs } from "../format/text.ts";
import { CallPanel } from "./logs/call-panel.tsx";
import { DelayedInput } from "./logs/delayed-input.tsx";
import { useLogs } from "./logs/use-logs.ts";
import {
  type CallGroup,
  groupName,
  groupOf,
  groupTagsOf,
  type PlacedCall,
  type SessionCalls,
  sessionCalls,
} from "./session/session-calls.ts";

const ABOUT: Readonly<Record<CallGroup, { title: string; sentBy: string }>> = {
  session: { title: "Session", sentBy: "Clients set it as metadata.session_id of a request." },
  trace: { title: "Trace", sentBy: "Clients send it in the header traceparent (W3C Trace Context): 32 hexadecimal digits." },
};

/** All calls of one session or trace in order of time. The address has its ID, or the tag that a call of it has. */
export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: me } = useQuery(meQuery);
  const text = (name: "session" | "trace" | "tag" | "call") => (address[name] === undefined ? undefined : String(address[name]));
  const tag = text("tag");
  const group = address.by === "trace" || address.trace !== undefined ? "trace" : (tag && groupOf(tag)) || "session";
  const id = text(group);
  const name = id || (tag && groupName(tag));
  const opened = text("call");
  const { title, sentBy } = ABOUT[group];
  const choose = (next: CallGroup, chosen: string) =>
    setAddress({ by: next, session: undefined, trace: undefined, [next]: chosen, tag: undefined, call: undefined });
  return (
    <Page
      title={title}
      about={name ? `All calls of ${group} ${name}, oldest first.` : `All calls of one ${group}.`}
      action={
        <Group gap="xs">
          <SegmentedControl
            aria-label="Calls by"
            size="xs"
            data={[
              { value: "session", label: "Session" },
              { value: "trace", label: "Trace" },
            ]}
            value={group}
            onChange={(next) => choose(next as CallGroup, "")}
          />
          <DelayedInput
            key={group}
            aria-label={`${title} ID, exactly`}
            placeholder={`${title} ID`}
            value={name}
            delayMs={500}
            onChange={(next) => choose(group, next ?? "")}
            w={260}
          />
        </Group>
      }
    >
      {name ? (
        <Calls
          key={name}
          group={group}
          query={id ? QUERIES[group](id) : { tag }}
          timeZone={me?.organization?.timezone ?? "UTC"}
          onOpen={(next) => setAddress({ call: next })}
        />
      ) : (
        <Card>
          <Empty icon={IconRoute} title={`No ${group} chosen`}>
            Enter its ID, or open a call of it in the logs. {sentBy}
          </Empty>
        </Card>
      )}
      {opened !== undefined && <CallPanel id={opened} onClose={() => setAddress({ call: undefined })} />}
    </Page>
  );
}

const QUERIES: Readonly<Record<CallGroup, (id: string) => Query>> = {
  session: (session) => ({ session }),
  trace: (traceId) => ({ trace_id: traceId }),
};

interface CallsProps {
  group: CallGroup;
  query: Query;
  timeZone: string;
  onOpen: (id: string) => void;
}

function Calls({ group, query, timeZone, onOpen }: CallsProps) {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage, isSearching } = useLogs(query, { isLive: false });
  const logs = data?.pages.flatMap((page) => page.data);
  const shown = logs && sessionCalls(logs);
  // The tag of a long session ID has a hash, so it is read from a call.
  const tag = groupTagsOf(logs?.[0]?.tags ?? []).find((each) => each.group === group)?.tag;
  const { totals, totalsExact } = data?.pages[0]?.meta ?? {};
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <Sums totals={totals} shown={shown} isWhole={totalsExact === true && !hasNextPage} />
      <Card>
        {hasNextPage && !isSearching && (
          <Group mb="sm">
            <Text size="sm">
              The newest {count(logs?.length ?? 0, "call")} of the {group}.
            </Text>
            <Button variant="default" size="compact-sm" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load older calls
            </Button>
          </Group>
        )}
        <DataTable
          label={`Calls of the ${group}`}
          columns={columns(timeZone, onOpen)}
          rows={shown?.calls}
          rowKey={({ call }) => call.id}
          empty={
            <Empty icon={IconListDetails} title={isSearching ? "Searching older calls" : `No calls of this ${group}`}>
              The ID is compared exactly. Calls appear here when they end.
            </Empty>
          }
        />
        {tag !== undefined && (
          <Group justify="flex-end" mt="sm">
            <Anchor component={Link} to="/logs" search={searchOf({ tag })} size="sm">
              Show in the logs
            </Anchor>
          </Group>
        )}
      </Card>
    </>
  );
}

function Sums({ totals, shown, isWhole }: { totals: Totals | undefined; shown: SessionCalls<UsageLog> | undefined; isWhole: boolean }) {
  const ofShown = isWhole ? undefined : "of the calls shown";
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Stat name="Cost" value={totals && <Usd amount={totals.costUsd} />} note={totals && count(totals.tokens, "token")} />
      <Stat name="Calls" value={totals?.requests.toLocaleString("en-US")} note={shown && `${shown.failed} without success`} />
      <Stat name="Duration" value={shown && formatMs(shown.spanMs)} note={ofShown ?? "first begin to last end"} />
      <Stat name="Time in calls" value={shown && formatMs(shown.busyMs)} note={ofShown ?? "sum of the latencies"} />
    </SimpleGrid>
  );
}

const columns = (timeZone: string, onOpen: (id: string) => void): Column<PlacedCall<UsageLog>>[] => [
  {
    title: "Time",
    cell: ({ call, offsetMs }) => (
      <div style={{ minWidth: 96 }}>
        <Anchor
          component="button"
          size="sm"
          onClick={() => onOpen(call.id)}
          aria-label={`${new Date(call.createdAt).toLocaleTimeString("en-GB", { timeZone })}: open this call`}
        >
          {new Date(call.createdAt).toLocaleTimeString("en-GB", { timeZone })}
        </Anchor>
        <Text size="xs" c="dimmed">
          +{formatMs(offsetMs)}
        </Text>
      </div>
    ),
  },
  {
    title: "Model",
    cell: ({ call }) => (
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {call.model}
      </Text>
    ),
  },
  { title: "Status", cell: ({ call }) => <StateBadge state={call.status} /> },
  {
    title: "Time line",
    cell: ({ call, startPercent, widthPercent }) => (
      <div className="session-lane" title={formatMs(call.latencyMs)}>
        <div
          className={call.status === "success" ? "session-bar" : "session-bar session-bar-failed"}
          style={{ left: `${startPercent}%`, width: `${widthPercent}%` }}
        />
      </div>
    ),
    wideOnly: true,
  },
  { title: "Latency", cell: ({ call }) => <Text size="sm">{formatMs(call.latencyMs)}</Text>, isNumber: true },
  { title: "Input", cell: ({ call }) => <Text size="sm">{call.usage.input.toLocaleString("en-US")}</Text>, isNumber: true, wideOnly: true },
  {
    title: "Output",
    cell: ({ call }) => <Text size="sm">{call.usage.output.toLocaleString("en-US")}</Text>,
    isNumber: true,
    wideOnly: true,
  },
  { title: "Cost", cell: ({ call }) => <Usd amount={call.costUsd} size="sm" />, isNumber: true },
];
