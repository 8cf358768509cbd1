import { Group, Pagination, ScrollArea, Skeleton, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { PageMeta } from "../api/types.ts";
import { count } from "../format/text.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** Hidden on narrow screens. */
  readonly wideOnly?: boolean;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  empty: ReactNode;
}

const SKELETON_ROWS = ["first", "second", "third"];

/** A table of records. While rows load, skeletons of the same height avoid layout shifts. */
export function DataTable<Row>({ label, columns, rows, rowKey, empty }: DataTableProps<Row>) {
  if (rows?.length === 0) return empty;
  return (
    <ScrollArea viewportProps={{ tabIndex: 0, role: "region", "aria-label": label }}>
      <Table verticalSpacing="sm" highlightOnHover aria-label={label} aria-busy={rows === undefined}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, isNumber, wideOnly }) => (
              <Table.Th key={title} ta={isNumber ? "right" : "left"} className={wideOnly ? "wide-only" : undefined}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows === undefined
            ? SKELETON_ROWS.map((name) => (
                <Table.Tr key={name}>
                  {columns.map(({ title, wideOnly }) => (
                    <Table.Td key={title} className={wideOnly ? "wide-only" : undefined}>
                      <Skeleton height={18} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            : rows.map((row) => (
                <Table.Tr key={rowKey(row)}>
                  {columns.map(({ title, cell, isNumber, wideOnly }, index) => (
                    <Table.Td
                      key={title}
                      ta={isNumber ? "right" : "left"}
                      className={cellClass({ isNumber, wideOnly, isFirst: index === 0 })}
                    >
                      {cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

interface PagesProps {
  meta: PageMeta | undefined;
  unit: string;
  /** The plural, if it is not the unit plus s. */
  units?: string;
  onPage: (page: number) => void;
}

export function Pages({ meta, unit, units, onPage }: PagesProps) {
  if (!meta || meta.total === 0) return null;
  return (
    <Group justify="space-between" mt="sm">
      <Text size="sm" c="dimmed">
        {count(meta.total, unit, units)}
      </Text>
      {meta.totalPages > 1 && (
        <Pagination
          total={meta.totalPages}
          value={meta.page}
          onChange={onPage}
          size="sm"
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
          getItemProps={(page) => ({ "aria-label": `page ${page}` })}
        />
      )}
    </Group>
  );
}

function cellClass({
  isNumber,
  wideOnly,
  isFirst,
}: {
  isNumber: boolean | undefined;
  wideOnly: boolean | undefined;
  isFirst: boolean;
}): string {
  return [isNumber && "numbers", wideOnly && "wide-only", isFirst && "first-column"].filter(Boolean).join(" ");
}
