import { Anchor, Button, Group, Select, Text } from "@mantine/core";
import { IconDownload, IconHistory, IconX } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { exportUrl, get } from "../../api/client.ts";
import { meQuery } from "../../api/queries.ts";
import type { AuditEntry, List } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { RANGES, type RangeName, rangeStart } from "../../components/time-range.ts";
import { searchOf, useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/text.ts";
import { placeOfId } from "../../layout/place-of-id.ts";
import { DelayedInput } from "../logs/delayed-input.tsx";
import { detailText } from "./detail-text.ts";

type Change = Readonly<Record<"action" | "actor" | "range", string | undefined>>;
const NOTHING: Change = { action: undefined, actor: undefined, range: undefined };

/** Entries of an audit log, newest first, by action, person and time. */
export function AuditLog({ path }: { path: string }) {
  const [address, setAddress] = useAddress();
  const { data: me } = useQuery(meQuery);
  const timeZone = me?.organization?.timezone ?? "UTC";
  const text = (name: keyof Change) => (address[name] === undefined ? undefined : String(address[name]));
  const range = Object.hasOwn(RANGES, text("range") ?? "") ? (text("range") as RangeName) : undefined;
  const filter = {
    action: text("action"),
    actor: text("actor"),
    startDate: range && rangeStart(range, { now: Date.now(), timeZone }),
    tz: timeZone,
  };
  const asked = { ...filter, page: Number(address.page ?? 1), pageSize: 20 };
  const { data, error } = useQuery({
    queryKey: ["audit", path, asked],
    queryFn: ({ signal }) => get<List<AuditEntry>>(path, asked, signal),
    placeholderData: keepPreviousData,
  });
  const choose = (change: Partial<Change>) => setAddress({ ...change, page: undefined });
  const isFiltered = filter.action !== undefined || filter.actor !== undefined || range !== undefined;
  const actor = data?.data.find(({ actorId }) => String(actorId) === filter.actor);
  return (
    <>
      <Failure error={error} />
      <Group justify="space-between" mb="sm">
        <Group gap="xs">
          <DelayedInput
            aria-label="Action, exactly"
            placeholder="Any action"
            value={filter.action}
            delayMs={500}
            onChange={(action) => choose({ action })}
            w={180}
          />
          <Select
            aria-label="Time"
            placeholder="Any time"
            data={Object.entries(RANGES).map(([value, { label }]) => ({ value, label: `Last ${label}` }))}
            value={range ?? null}
            onChange={(next) => choose({ range: next ?? undefined })}
            clearable
            clearButtonProps={{ "aria-label": "Any time" }}
            w={150}
          />
          {filter.actor !== undefined && <Text size="sm">by {actor ? actorText(actor) : `user ${filter.actor}`}</Text>}
          {isFiltered && (
            <Button variant="subtle" size="compact-sm" leftSection={<IconX size={14} aria-hidden />} onClick={() => choose(NOTHING)}>
              Clear filters
            </Button>
          )}
        </Group>
        <Button
          component="a"
          href={exportUrl(path, { ...filter, format: "jsonl" })}
          download
          variant="default"
          size="compact-sm"
          leftSection={<IconDownload size={14} aria-hidden />}
        >
          Export JSON lines
        </Button>
      </Group>
      <DataTable
        label="Audit log"
        columns={columns(choose)}
        rows={data?.data}
        rowKey={({ seq }) => String(seq)}
        empty={<Empty icon={IconHistory} title={isFiltered ? "No matching entries" : "No audit entries yet"} />}
      />
      <Pages meta={data?.meta} unit="entry" units="entries" onPage={(page) => setAddress({ page })} />
    </>
  );
}

const actorText = ({ actorId, actorEmail, actorKind }: AuditEntry): string =>
  actorEmail ?? (actorId === null ? actorKind : `user ${actorId}`);

const columns = (choose: (change: Partial<Change>) => void): Column<AuditEntry>[] => [
  {
    title: "Who and when",
    cell: (entry) => (
      <div style={{ minWidth: 140 }}>
        {entry.actorId === null ? (
          <Text size="sm">{actorText(entry)}</Text>
        ) : (
          <Anchor
            component="button"
            size="sm"
            ta="left"
            style={{ overflowWrap: "anywhere" }}
            title="Show only entries of this user"
            onClick={() => choose({ actor: String(entry.actorId) })}
          >
            {actorText(entry)}
          </Anchor>
        )}
        <Text size="xs" c="dimmed" title={`${entry.at}, request ${entry.requestId}`}>
          {formatTime(entry.at)}
        </Text>
      </div>
    ),
  },
  {
    title: "Action",
    cell: ({ action }) => (
      <Anchor
        component="button"
        size="sm"
        ta="left"
        ff="monospace"
        title="Show only entries of this action"
        onClick={() => choose({ action })}
      >
        {action}
      </Anchor>
    ),
  },
  { title: "Target", cell: ({ target }) => <Target id={target} />, wideOnly: true },
  {
    title: "Details",
    cell: ({ details }) => (
      <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        {detailText(details)}
      </Text>
    ),
    wideOnly: true,
  },
];

/** The ID of what was changed, as a link where the console shows it. */
function Target({ id }: { id: string }) {
  const place = placeOfId(id);
  const look = { size: "xs", ff: "monospace", style: { overflowWrap: "anywhere" } } as const;
  if (!place) return <Text {...look}>{id}</Text>;
  return (
    <Anchor component={Link} to={place.to} search={searchOf(place.search ?? {})} title={`Open: ${place.what}`} {...look}>
      {id}
    </Anchor>
  );
}
