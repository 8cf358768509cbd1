import { Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconBuilding } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { organizationsQuery } from "../../api/admin.ts";
import type { Organization } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { ago, count } from "../../format/text.ts";
import { Block, isBlockedByAdmin } from "./organizations/block.tsx";
import { BlockTeam } from "./organizations/block-team.tsx";
import { EditOrganization } from "./organizations/edit-organization.tsx";
import { Grant } from "./organizations/grant.tsx";

interface Dialog {
  readonly kind: "edit" | "grant" | "block";
  readonly organization: Organization;
}

export function Organizations() {
  const [address, setAddress] = useAddress();
  const search = address.search === undefined ? undefined : String(address.search);
  const { data, error } = useQuery(organizationsQuery({ search, page: Number(address.page ?? 1), pageSize: 20 }));
  const [dialog, setDialog] = useState<Dialog | undefined>();
  const find = useDebouncedCallback((text: string) => setAddress({ search: text, page: undefined }), 250);
  const close = () => setDialog(undefined);
  return (
    <>
      <Failure error={error} />
      <TextInput
        aria-label="Search organizations"
        placeholder="Search by name or ID"
        defaultValue={search ?? ""}
        onChange={(event) => find(event.currentTarget.value)}
        maw={320}
        mb="sm"
      />
      <DataTable
        label="Organizations"
        columns={[...COLUMNS, actions(setDialog)]}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={<Empty icon={IconBuilding} title="No organizations found" />}
      />
      <Pages meta={data?.meta} unit="organization" onPage={(page) => setAddress({ page })} />
      <BlockTeam />
      {dialog?.kind === "edit" && <EditOrganization organization={dialog.organization} onClose={close} />}
      {dialog?.kind === "grant" && <Grant organization={dialog.organization} onClose={close} />}
      {dialog?.kind === "block" && <Block organization={dialog.organization} onClose={close} />}
    </>
  );
}

const COLUMNS: Column<Organization>[] = [
  {
    title: "Organization",
    cell: ({ name, id }) => (
      <div style={{ minWidth: 120 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" className="wide-only" style={{ overflowWrap: "anywhere" }}>
          {id}
        </Text>
      </div>
    ),
  },
  {
    title: "Status",
    cell: ({ status, blockedReason, blockNote }) => (
      <div>
        <StateBadge state={status} />
        {status === "blocked" && (
          <Text size="xs" c="dimmed" maw={220} style={{ overflowWrap: "anywhere" }}>
            {blockedReason === "admin" ? (blockNote ?? "blocked by an admin") : "out of credits"}
          </Text>
        )}
      </div>
    ),
    wideOnly: true,
  },
  { title: "Balance", cell: ({ balanceUsd }) => <Usd amount={balanceUsd} size="sm" fw={600} />, isNumber: true },
  {
    title: "Members",
    cell: ({ memberCount, teamCount }) => (
      <Text size="sm">
        {count(memberCount, "member")}, {count(teamCount, "team")}
      </Text>
    ),
    isNumber: true,
    wideOnly: true,
  },
  { title: "Created", cell: ({ createdAt }) => <Text size="sm">{ago(createdAt)}</Text>, wideOnly: true },
];

const actions = (open: (dialog: Dialog) => void): Column<Organization> => ({
  title: "Actions",
  cell: (organization) => {
    const action = isBlockedByAdmin(organization) ? "Unblock" : "Block";
    return (
      <Group gap={4} justify="flex-end">
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => open({ kind: "edit", organization })}
          aria-label={`Edit ${organization.name}`}
        >
          Edit
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => open({ kind: "grant", organization })}
          aria-label={`Grant credits to ${organization.name}`}
        >
          Grant credits
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => open({ kind: "block", organization })}
          aria-label={`${action} ${organization.name}`}
        >
          {action}
        </Button>
      </Group>
    );
  },
  isNumber: true,
});
