import "./log-table.css";
import { Anchor, Skeleton, UnstyledButton } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";
import type { UsageLog } from "../../api/types.ts";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { LOG_COLUMNS, type LogColumn, type LogColumnName } from "./log-columns.tsx";
import type { LogSort } from "./log-filter.ts";

const ROW_PX = 44;
const AHEAD = 12;

interface LogTableProps {
  logs: readonly UsageLog[] | undefined;
  timeZone: string;
  selected: string | undefined;
  empty: ReactNode;
  columns: readonly LogColumnName[];
  /** Undefined: newest first. */
  sort: LogSort | undefined;
  onSort: (sort: LogSort | undefined) => void;
  onOpen: (id: string) => void;
  /** Called when the user scrolls near the end. */
  onEnd: () => void;
}

/** Chosen columns are not shown on narrow screens. */
function chosenClass(name: LogColumnName): string {
  return "isNumber" in LOG_COLUMNS[name] ? "log-number log-wide" : "log-wide";
}

function widthsOf(columns: readonly LogColumnName[]): CSSProperties {
  const chosen = columns.map((name) => LOG_COLUMNS[name].width);
  const widths = ["minmax(132px, 1.2fr)", "minmax(100px, 1.6fr)", "100px", ...chosen, "92px"];
  return { "--log-columns": widths.join(" ") } as CSSProperties;
}

/** A virtual list that renders only visible rows, so that large logs scroll smoothly. */
export function LogTable({ logs, timeZone, selected, empty, columns, sort, onSort, onOpen, onEnd }: LogTableProps) {
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
      <table className="log-table" style={widthsOf(columns)} aria-label="Calls" aria-rowcount={count + 1} aria-busy={logs === undefined}>
        <thead className="log-head">
          <tr className="log-row" aria-rowindex={1}>
            <SortHead title="Time" isSorted={sort === undefined} onSort={() => onSort(undefined)} />
            <th scope="col">Model</th>
            <th scope="col">Status</th>
            {columns.map((name) => {
              const { title, sort: by }: LogColumn = LOG_COLUMNS[name];
              const className = chosenClass(name);
              if (by) return <SortHead key={name} {...{ title, className }} isSorted={sort === by} onSort={() => onSort(by)} />;
              return (
                <th key={name} scope="col" className={className}>
                  {title}
                </th>
              );
            })}
            <SortHead title="Cost" className="log-number" isSorted={sort === "cost"} onSort={() => onSort("cost")} />
          </tr>
        </thead>
        <tbody className="log-body" style={{ height: virtual.getTotalSize() }}>
          {shown.map(({ index, start }) => {
            const log = logs?.[index];
            if (!log) return null;
            return <LogRow key={log.id} log={log} {...{ index, start, timeZone, columns, onOpen }} isSelected={log.id === selected} />;
          })}
        </tbody>
      </table>
      {logs === undefined && <Skeleton height={ROW_PX * 6} mt="xs" />}
    </section>
  );
}

/** The head of a column that sorts, largest or newest first. */
function SortHead({ title, className, isSorted, onSort }: { title: string; className?: string; isSorted: boolean; onSort: () => void }) {
  return (
    <th scope="col" className={className} aria-sort={isSorted ? "descending" : undefined}>
      <UnstyledButton
        fz="sm"
        fw={650}
        onClick={onSort}
        title={`Sort by ${title.toLowerCase()}, ${title === "Time" ? "newest" : "largest"} first`}
      >
        {title}
        {isSorted && <IconArrowDown size={13} aria-hidden style={{ verticalAlign: "-2px" }} />}
      </UnstyledButton>
    </th>
  );
}

interface LogRowProps {
  log: UsageLog;
  index: number;
  start: number;
  timeZone: string;
  isSelected: boolean;
  columns: readonly LogColumnName[];
  onOpen: (id: string) => void;
}

/** A click on the row opens the call; the button in the first cell makes it reachable by keyboard. */
function LogRow({ log, index, start, timeZone, isSelected, columns, onOpen }: LogRowProps) {
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
      {columns.map((name) => (
        <td key={name} className={chosenClass(name)}>
          {LOG_COLUMNS[name].cell(log)}
        </td>
      ))}
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
