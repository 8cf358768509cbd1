import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKey } from "@tabler/icons-react";
import type { ApiKey, TeamDetail } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { ago } from "../../format/text.ts";
import { formatLimits } from "../keys/format-limits.ts";
import { KeyForm } from "../keys/key-form.tsx";

const COLUMNS: Column<ApiKey>[] = [
  {
    title: "Name",
    cell: (key) => (
      <div>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {key.name}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {key.maskedKey}
        </Text>
      </div>
    ),
  },
  { title: "Status", cell: (key) => <StateBadge state={key.status} /> },
  { title: "Limits", cell: (key) => <Text size="sm">{formatLimits(key)}</Text>, wideOnly: true },
  { title: "Spend (30 days)", cell: (key) => <Usd amount={key.spendUsd} size="sm" />, isNumber: true },
  { title: "Last used", cell: (key) => <Text size="sm">{key.lastUsedAt ? ago(key.lastUsedAt) : "never"}</Text>, wideOnly: true },
];

export function TeamKeys({ team }: { team: TeamDetail }) {
  const [isOpen, dialog] = useDisclosure(false);
  const make = <Button onClick={dialog.open}>Create key</Button>;
  return (
    <Stack>
      {team.apiKeys.length > 0 && <Group justify="flex-end">{make}</Group>}
      <DataTable
        label="Team API keys"
        columns={COLUMNS}
        rows={team.apiKeys}
        rowKey={(key) => key.id}
        empty={
          <Empty icon={IconKey} title="No API keys yet" action={make}>
            Create a key to call the models of this team.
          </Empty>
        }
      />
      {isOpen && <KeyForm teamId={team.id} onClose={dialog.close} />}
    </Stack>
  );
}
