import "./session/session.css";
import { Anchor, Button, Group, SimpleGrid, Text } from "@mantine/core";
import { IconListDetails, IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
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
import { type PlacedCall, type SessionCalls, sessionCalls, sessionName, sessionTagOf } from "./session/session-calls.ts";

/** All calls of one session in order of time. The address has the ID of the session, or the tag that a call of it has. */
export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: me } = useQuery(meQuery);
  const session = address.session === undefined ? undefined : String(address.session);
  const tag = session === undefined && address.tag !== undefined ? String(address.tag) : undefined;
  const name = session ?? (tag && sessionName(tag));
  const opened = address.call === undefined ? undefined : String(address.call);
  return (
    <Page
      title="Session"
      about={name ? `All calls of session ${name}, oldest first.` : "All calls with one metadata.session_id."}
      action={
        <DelayedInput
          aria-label="Session ID, exactly"
          placeholder="Session ID"
          value={name}
          delayMs={500}
          onChange={(id) => setAddress({ session: id, tag: undefined, call: undefined })}
          w={260}
        />
      }
    >
      {name === undefined ? (
        <Card>
          <Empty icon={IconRoute} title="No session chosen">
            Enter a session ID, or open a call of the session in the logs. Clients set it as metadata.session_id of a request.
          </Empty>
        </Card>
      ) : (
        <Calls
          key={name}
          query={session === undefined ? { tag } : { session }}
          timeZone={me?.organization?.timezone ?? "UTC"}
          onOpen={(id) => setAddress({ call: id })}
        />
      )}
      {opened !== undefined && <CallPanel id={opened} onClose={() => setAddress({ call: undefined })} />}
    </Page>
  );
}

interface CallsProps {
  query: { session?: string; tag?: string | undefined };
  timeZone: string;
  onOpen: (id: string) => void;
}

function Calls({ query, timeZone, onOpen }: CallsProps) {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage, isSearching } = useLogs(query, { isLive: false });
  const logs = data?.pages.flatMap((page) => page.data);
  const shown = logs && sessionCalls(logs);
  // The tag of a long ID has a hash, so it is read from a call.
  const tag = query.tag ?? sessionTagOf(logs?.[0]?.tags ?? []);
  const { totals, totalsExact } = data?.pages[0]?.meta ?? {};
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <Sums totals={totals} shown={shown} isWhole={totalsExact === true && !hasNextPage} />
      <Card>
        {hasNextPage && !isSearching && (
          <Group mb="sm">
            <Text size="sm">The newest {count(logs?.length ?? 0, "call")} of the session.</Text>
            <Button variant="default" size="compact-sm" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load older calls
            </Button>
          </Group>
        )}
        <DataTable
          label="Calls of the session"
          columns={columns(timeZone, onOpen)}
          rows={shown?.calls}
          rowKey={({ call }) => call.id}
          empty={
            <Empty icon={IconListDetails} title={isSearching ? "Searching older calls" : "No calls of this session"}>
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
