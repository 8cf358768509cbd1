import { Button, Group, Modal, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconBuilding } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { balancesQuery } from "../../api/admin.ts";
import type { OrganizationBalance } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { useAdminChange } from "./use-admin-change.ts";

export function Organizations() {
  const [address, setAddress] = useAddress();
  const { data, error } = useQuery(balancesQuery({ page: Number(address.page ?? 1), pageSize: 20 }));
  const [granted, setGranted] = useState<OrganizationBalance | undefined>();
  const columns: Column<OrganizationBalance>[] = [
    {
      title: "Organisation",
      cell: ({ name, organizationId }) => (
        <div style={{ minWidth: 120 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace" style={{ overflowWrap: "anywhere" }}>
            {organizationId}
          </Text>
        </div>
      ),
    },
    { title: "Balance", cell: ({ balanceUsd }) => <Usd amount={balanceUsd} size="sm" fw={600} />, isNumber: true },
    { title: "Entries", cell: ({ entries }) => <Text size="sm">{entries.toLocaleString("en-US")}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Action",
      cell: (organization) => (
        <Button size="compact-xs" variant="default" onClick={() => setGranted(organization)} aria-label={`Grant to ${organization.name}`}>
          Grant
        </Button>
      ),
      isNumber: true,
    },
  ];
  return (
    <>
      <Failure error={error} />
      <DataTable
        label="Organisations"
        columns={columns}
        rows={data?.data}
        rowKey={({ organizationId }) => organizationId}
        empty={<Empty icon={IconBuilding} title="No organisation yet" />}
      />
      <Pages meta={data?.meta} unit="organisation" onPage={(page) => setAddress({ page })} />
      <BlockTeam />
      {granted && <Grant organization={granted} onClose={() => setGranted(undefined)} />}
    </>
  );
}

function Grant({ organization: { name, organizationId }, onClose }: { organization: OrganizationBalance; onClose: () => void }) {
  const [amountUsd, setAmount] = useState("");
  const [reference, setReference] = useState("");
  const { mutate, error, isPending } = useAdminChange(onClose);
  const body = { amountUsd: amountUsd.trim(), ...(reference.trim() === "" ? {} : { reference: reference.trim() }) };
  return (
    <Modal opened onClose={onClose} title={`Credits for ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({
            method: "POST",
            path: `organizations/${organizationId}/credits`,
            body,
            done: `${name} was granted $${body.amountUsd}.`,
          });
        }}
      >
        <Stack>
          <Failure error={error} />
          <TextInput
            label="Amount in USD"
            description="with a minus to take some back"
            required
            value={amountUsd}
            onChange={(event) => setAmount(event.currentTarget.value)}
            data-autofocus
          />
          <TextInput label="Reason" value={reference} onChange={(event) => setReference(event.currentTarget.value)} />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending}>
              Grant
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function BlockTeam() {
  const [team, setTeam] = useState("");
  const [reason, setReason] = useState("");
  const { mutate, error, isPending } = useAdminChange();
  const set = (deed: "block" | "unblock") =>
    mutate({
      method: "POST",
      path: `teams/${encodeURIComponent(team.trim())}/${deed}`,
      body: reason.trim() === "" ? {} : { reason: reason.trim() },
      done: deed === "block" ? "The team is blocked." : "The block is lifted.",
    });
  return (
    <Stack gap="xs" mt="lg">
      <Title order={3} size="h6">
        Block a team
      </Title>
      <Failure error={error} />
      <Group align="flex-end">
        <TextInput label="Team id" placeholder="team_…" value={team} onChange={(event) => setTeam(event.currentTarget.value)} />
        <TextInput label="Reason" value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
        <Button color="red" variant="light" loading={isPending} disabled={team.trim() === ""} onClick={() => set("block")}>
          Block
        </Button>
        <Button variant="default" loading={isPending} disabled={team.trim() === ""} onClick={() => set("unblock")}>
          Unblock
        </Button>
      </Group>
    </Stack>
  );
}
