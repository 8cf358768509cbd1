import { Group, Switch, Text } from "@mantine/core";
import { IconListDetails } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { meQuery } from "../api/queries.ts";
import { Card } from "../components/card.tsx";
import { Empty } from "../components/empty.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { useStored } from "../components/use-stored.ts";
import { count } from "../format/text.ts";
import { CallPanel } from "./logs/call-panel.tsx";
import { chosenColumns } from "./logs/log-columns.tsx";
import { type LogFilter, logsAskedFor, readLogFilter, readSort } from "./logs/log-filter.ts";
import { LogFilters } from "./logs/log-filters.tsx";
import { LogHistogram } from "./logs/log-histogram.tsx";
import { LogTable } from "./logs/log-table.tsx";
import { LogTools } from "./logs/log-tools.tsx";
import { useLogs } from "./logs/use-logs.ts";

export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: me } = useQuery(meQuery);
  const filter = readLogFilter(address);
  const timeZone = filter.timeZone ?? me?.organization?.timezone ?? "UTC";
  const sort = readSort(address.sort);
  // A new call may be anywhere in a sorted log.
  const isLive = address.live !== "off" && sort === undefined;
  const [columns, setColumns] = useStored("logs.columns", chosenColumns);
  const [isCharted, setCharted] = useStored("logs.histogram", (stored) => stored === true);
  const query = logsAskedFor(filter, { now: Date.now(), timeZone });
  const opened = address.call === undefined ? undefined : String(address.call);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage, isSearching } = useLogs(query, { isLive, sort });
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const { totals, totalsExact, partial: isPartial } = data?.pages[0]?.meta ?? {};
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Page
      title="Logs"
      about={`All calls with status, usage and cost. Times in ${timeZone}.`}
      action={
        <Group>
          <Switch label="Histogram" checked={isCharted} onChange={(event) => setCharted(event.currentTarget.checked)} />
          <Switch
            label="Live"
            checked={isLive}
            disabled={sort !== undefined}
            onChange={(event) => setAddress({ live: event.currentTarget.checked ? undefined : "off" })}
          />
        </Group>
      }
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <Card>
        <Group justify="space-between" align="flex-start">
          <LogFilters filter={filter} onChange={setAddress} />
          <LogTools
            owner={me?.user.id}
            {...{ query, address, columns }}
            onColumns={(names) => setColumns(chosenColumns(names))}
            onAddress={setAddress}
          />
        </Group>
        {isCharted && canChart(filter) && <LogHistogram {...{ filter, query, timeZone }} onChange={setAddress} />}
        <LogTable
          logs={data?.pages.flatMap((page) => page.data)}
          timeZone={timeZone}
          selected={opened}
          columns={columns}
          sort={sort}
          onSort={(next) => setAddress({ sort: next })}
          onOpen={(id) => setAddress({ call: id })}
          onEnd={onEnd}
          empty={
            <Empty icon={IconListDetails} title={isSearching ? "Searching older calls" : isFiltered ? "No matching calls" : "No calls yet"}>
              {isFiltered ? "Clear a filter to see more calls." : "Calls appear here when they end. See Getting started for a first call."}
            </Empty>
          }
        />
        {sort !== undefined && isPartial && (
          <Text size="sm" mt="sm" role="status">
            Only the newest calls are sorted so far. The rest is being read; reload in a minute.
          </Text>
        )}
        {totals && (
          <Group justify="space-between" mt="sm">
            <Text size="sm" c="dimmed" role="status">
              {count(totals.requests, "call")}, {count(totals.tokens, "token")}
              {totals.refused > 0 && `, ${totals.refused.toLocaleString("en-US")} refused`}
            </Text>
            <Text size="sm">
              <Usd amount={totals.costUsd} fw={600} /> {totalsExact ? "total" : "in the calls searched so far"}
            </Text>
          </Group>
        )}
      </Card>
      {opened !== undefined && <CallPanel id={opened} onClose={() => setAddress({ call: undefined })} />}
    </Page>
  );
}

/** The bars are whole hours or days of a span, and know no text. */
function canChart({ from, to, search }: LogFilter): boolean {
  return (from === undefined) === (to === undefined) && search === undefined;
}
