import { ActionIcon, Button, Group, Menu, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import {
  IconArrowsExchange,
  IconChartLine,
  IconDots,
  IconKey,
  IconListDetails,
  IconPencil,
  IconPlus,
  IconRefresh,
  IconSearch,
  IconTrash,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { keysQuery, teamsQuery } from "../api/queries.ts";
import type { ApiKey } from "../api/types.ts";
import { hasBudget } from "../components/budget/burn-down-card.tsx";
import { Card } from "../components/card.tsx";
import { type Column, DataTable, Pages } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Usd } from "../components/usd.tsx";
import { searchOf, useAddress } from "../components/use-address.ts";
import { useHasScreen } from "../components/use-has-screen.ts";
import { ago } from "../format/text.ts";
import { formatLimits } from "./keys/format-limits.ts";
import { KeyBudget } from "./keys/key-budget.tsx";
import { KeyForm } from "./keys/key-form.tsx";
import { otherTeams } from "./keys/other-teams.ts";
import { RemoveKey } from "./keys/remove-key.tsx";
import { RotateKey } from "./keys/rotate-key.tsx";
import { TransferKey } from "./keys/transfer-key.tsx";

const PAGE_SIZE = 20;
type KeyAction = { kind: "edit" | "rotate" | "transfer" | "remove" | "budget"; apiKey: ApiKey } | { kind: "new" };

export function Screen() {
  const [address, setAddress] = useAddress();
  const search = address.search === undefined ? "" : String(address.search);
  const page = Number(address.page ?? 1);
  const { data, error, refetch } = useQuery(keysQuery({ search, page, pageSize: PAGE_SIZE, team_id: address.team as string }));
  const [action, setAction] = useState<KeyAction | undefined>(address.new === "key" ? { kind: "new" } : undefined);
  const close = () => {
    setAction(undefined);
    if (address.new !== undefined) setAddress({ new: undefined });
  };
  const find = useDebouncedCallback((text: string) => setAddress({ search: text, page: undefined }), 250);
  const make = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setAction({ kind: "new" })}>
      Create key
    </Button>
  );
  return (
    <Page
      title="API keys"
      about="API keys authenticate calls to the gateway. The secret is shown once, when a key is created."
      action={make}
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <Card>
        <TextInput
          aria-label="Search keys"
          placeholder="Search by name"
          leftSection={<IconSearch size={16} aria-hidden />}
          defaultValue={search}
          key={search}
          onChange={(event) => find(event.currentTarget.value)}
          mb="sm"
          maw={320}
        />
        <DataTable
          label="API keys"
          columns={columns(setAction)}
          rows={data?.data}
          rowKey={(key) => key.id}
          empty={
            <Empty icon={IconKey} title={search ? "No API keys found" : "No API keys yet"} action={search ? undefined : make}>
              {search ? "Try another search." : "Create a key to call the models of your team."}
            </Empty>
          }
        />
        <Pages meta={data?.meta} unit="key" onPage={(next) => setAddress({ page: next })} />
      </Card>
      {(action?.kind === "new" || action?.kind === "edit") && (
        <KeyForm apiKey={action.kind === "edit" ? action.apiKey : undefined} onClose={close} />
      )}
      {action?.kind === "budget" && <KeyBudget apiKey={action.apiKey} onClose={close} />}
      {action?.kind === "rotate" && <RotateKey apiKey={action.apiKey} onClose={close} />}
      {action?.kind === "transfer" && <TransferKey apiKey={action.apiKey} onClose={close} />}
      {action?.kind === "remove" && <RemoveKey apiKey={action.apiKey} onClose={close} />}
    </Page>
  );
}

function columns(onAction: (action: KeyAction) => void): Column<ApiKey>[] {
  return [
    {
      title: "Name",
      cell: (key) => (
        <div style={{ minWidth: 130 }}>
          <Text fw={600} size="sm" style={{ overflowWrap: "anywhere" }}>
            {key.name}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace">
            {key.maskedKey}
          </Text>
        </div>
      ),
    },
    { title: "Team", cell: (key) => <Text size="sm">{key.teamName}</Text>, wideOnly: true },
    { title: "Status", cell: (key) => <StateBadge state={key.status} /> },
    { title: "Limits", cell: (key) => <Text size="sm">{formatLimits(key)}</Text>, wideOnly: true },
    { title: "Spend (30 days)", cell: (key) => <Usd amount={key.spendUsd} size="sm" />, isNumber: true, wideOnly: true },
    { title: "Last used", cell: (key) => <Text size="sm">{key.lastUsedAt ? ago(key.lastUsedAt) : "never"}</Text>, wideOnly: true },
    { title: "Actions", cell: (apiKey) => <KeyMenu apiKey={apiKey} onAction={onAction} />, isNumber: true },
  ];
}

function KeyMenu({ apiKey, onAction }: { apiKey: ApiKey; onAction: (action: KeyAction) => void }) {
  const hasLogs = useHasScreen("/logs");
  const { data: teams } = useQuery(teamsQuery());
  const hasOtherTeams = otherTeams(teams?.data, apiKey).length > 0;
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${apiKey.name}`}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {hasLogs && (
            <Menu.Item
              component={Link}
              to="/logs"
              search={searchOf({ apiKey: apiKey.id })}
              leftSection={<IconListDetails size={16} aria-hidden />}
            >
              View logs
            </Menu.Item>
          )}
          {hasBudget(apiKey) && (
            <Menu.Item leftSection={<IconChartLine size={16} aria-hidden />} onClick={() => onAction({ kind: "budget", apiKey })}>
              Budget
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={() => onAction({ kind: "edit", apiKey })}>
            Edit
          </Menu.Item>
          <Menu.Item leftSection={<IconRefresh size={16} aria-hidden />} onClick={() => onAction({ kind: "rotate", apiKey })}>
            Rotate
          </Menu.Item>
          {hasOtherTeams && (
            <Menu.Item leftSection={<IconArrowsExchange size={16} aria-hidden />} onClick={() => onAction({ kind: "transfer", apiKey })}>
              Move to another team
            </Menu.Item>
          )}
          <Menu.Divider />
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => onAction({ kind: "remove", apiKey })}>
            Revoke
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
