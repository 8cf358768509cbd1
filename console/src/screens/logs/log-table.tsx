import "./log-table.css";
import { Anchor, Skeleton } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import type { UsageLog } from "../../api/types.ts";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { formatMs } from "../../format/text.ts";

const ROW_PX = 44;
const AHEAD = 12;

interface LogTableProps {
  logs: readonly UsageLog[] | undefined;
  timeZone: string;
  selected: string | undefined;
  empty: ReactNode;
  onOpen: (id: string) => void;
  /** Called when the user scrolls near the end. */
  onEnd: () => void;
}

const COLUMNS = [
  { title: "Time" },
  { title: "Model" },
  { title: "Status" },
  { title: "Key", className: "log-wide" },
  { title: "Team", className: "log-wide" },
  { title: "Tokens", className: "log-number log-wide" },
  { title: "Latency", className: "log-number log-wide" },
  { title: "Cost", className: "log-number" },
] as const;

/** A virtual list that renders only visible rows, so that large logs scroll smoothly. */
export function LogTable({ logs, timeZone, selected, empty, onOpen, onEnd }: LogTableProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const count = logs?.length ?? 0;
  const virtual = useVirtualizer({ count, getScrollElement: () => scroll.current, estimateSize: () => ROW_PX, overscan: AHEAD });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (count > 0 && last >= count - AHEAD) onEnd();
  }, [count, last, onEnd]);
  if (logs?.length === 0) return empty;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="log-scroll" ref={scroll} tabIndex={0} aria-label="Calls">
      <table className="log-table" aria-label="Calls" aria-rowcount={count + 1} aria-busy={logs === undefined}>
        <thead className="log-head">
          <tr className="log-row" aria-rowindex={1}>
            {COLUMNS.map(({ title, ...rest }) => (
              <th key={title} scope="col" {...rest}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="log-body" style={{ height: virtual.getTotalSize() }}>
          {shown.map(({ index, start }) => {
            const log = logs?.[index];
            if (!log) return null;
            return <LogRow key={log.id} log={log} {...{ index, start, timeZone, onOpen }} isSelected={log.id === selected} />;
          })}
        </tbody>
      </table>
      {logs === undefined && <Skeleton height={ROW_PX * 6} mt="xs" />}
    </section>
  );
}

interface LogRowProps {
  log: UsageLog;
  index: number;
  start: number;
  timeZone: string;
  isSelected: boolean;
  onOpen: (id: string) => void;
}

/** A click on the row opens the call; the button in the first cell makes it reachable by keyboard. */
function LogRow({ log, index, start, timeZone, isSelected, onOpen }: LogRowProps) {
  const { day, time } = rowTime(log.createdAt, timeZone);
  return (
    <tr
      className="log-row"
      style={{ transform: `translateY(${start}px)` }}
      aria-rowindex={index + 2}
      data-selected={isSelected}
      onClick={() => onOpen(log.id)}
    >
      <td>
        <Anchor component="button" size="sm" onClick={() => onOpen(log.id)} aria-label={`${day}, ${time}: open this call`}>
          <span className="log-day">{day}, </span>
          {time}
        </Anchor>
      </td>
      <td title={log.model}>{log.model}</td>
      <td>
        <StateBadge state={log.status} />
      </td>
      <td className="log-wide" title={log.maskedKey}>
        {log.apiKeyName}
      </td>
      <td className="log-wide">{log.teamName}</td>
      <td className="log-number log-wide">{log.usage.total.toLocaleString("en-US")}</td>
      <td className="log-number log-wide">{formatMs(log.latencyMs)}</td>
      <td className="log-number">
        <Usd amount={log.costUsd} />
      </td>
    </tr>
  );
}

function rowTime(iso: string, timeZone: string): { day: string; time: string } {
  const at = new Date(iso);
  return {
    day: at.toLocaleDateString("en-GB", { day: "2-digit", month: "short", timeZone }),
    time: at.toLocaleTimeString("en-GB", { timeZone }),
  };
}
