import { Button, Checkbox, Group, Menu, Stack, TextInput } from "@mantine/core";
import { IconBookmark, IconColumns3, IconDownload, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { exportUrl, type Query } from "../../api/client.ts";
import { useStored } from "../../components/use-stored.ts";
import { LOG_COLUMNS, type LogColumnName } from "./log-columns.tsx";
import { addressOf, NAME_MAX, readViews, viewsName, withView } from "./saved-views.ts";

interface LogToolsProps {
  /** The user, whose views these are; undefined until it is known. */
  owner: number | undefined;
  query: Query;
  address: Readonly<Record<string, unknown>>;
  columns: readonly LogColumnName[];
  onColumns: (columns: readonly LogColumnName[]) => void;
  onAddress: (change: Record<string, string | undefined>) => void;
}

/** Saved views, columns and exports of the log. */
export function LogTools({ owner, query, address, columns, onColumns, onAddress }: LogToolsProps) {
  return (
    <Group gap="xs">
      {owner !== undefined && <Views key={owner} owner={owner} address={address} onAddress={onAddress} />}
      <Columns columns={columns} onColumns={onColumns} />
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="compact-sm" leftSection={<IconDownload size={14} aria-hidden />}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {/* A link, so that the browser writes the file while it arrives. */}
          <Menu.Item component="a" href={exportUrl("/api/gw/logs", { ...query, format: "csv" })} download>
            CSV, all matching calls
          </Menu.Item>
          <Menu.Item component="a" href={exportUrl("/api/gw/logs", { ...query, format: "jsonl" })} download>
            JSON lines, all matching calls
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

function Columns({ columns, onColumns }: Pick<LogToolsProps, "columns" | "onColumns">) {
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" size="compact-sm" leftSection={<IconColumns3 size={14} aria-hidden />}>
          Columns
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Checkbox.Group value={[...columns]} onChange={(names) => onColumns(names as LogColumnName[])} p="xs">
          <Stack gap={6}>
            {Object.entries(LOG_COLUMNS).map(([name, { title }]) => (
              <Checkbox key={name} value={name} label={title} size="xs" />
            ))}
          </Stack>
        </Checkbox.Group>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Views are in this browser; the address of a view can be shared. */
function Views({ owner, address, onAddress }: { owner: number } & Pick<LogToolsProps, "address" | "onAddress">) {
  const [views, setViews] = useStored(viewsName(owner), readViews);
  const [name, setName] = useState("");
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="default" size="compact-sm" leftSection={<IconBookmark size={14} aria-hidden />}>
          Views
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {views.map((view) => (
          <Group key={view.name} gap={4} wrap="nowrap">
            <Menu.Item onClick={() => onAddress(addressOf(view))}>{view.name}</Menu.Item>
            <Menu.Item
              aria-label={`Remove the view ${view.name}`}
              w="auto"
              closeMenuOnClick={false}
              onClick={() => setViews(views.filter((other) => other !== view))}
            >
              <IconTrash size={14} aria-hidden />
            </Menu.Item>
          </Group>
        ))}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() === "") return;
            setViews(withView(views, name, address));
            setName("");
          }}
        >
          <Group gap="xs" p="xs" wrap="nowrap">
            <TextInput
              aria-label="Name of the view"
              placeholder="Name these filters"
              size="xs"
              maxLength={NAME_MAX}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button type="submit" size="compact-xs" disabled={name.trim() === ""}>
              Save
            </Button>
          </Group>
        </form>
      </Menu.Dropdown>
    </Menu>
  );
}
