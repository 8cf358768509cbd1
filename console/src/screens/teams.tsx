import { Anchor, Button, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconUsersGroup } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { post } from "../api/client.ts";
import { teamsQuery } from "../api/queries.ts";
import type { Team } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { type Column, DataTable, Pages } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Failure } from "../components/failure.tsx";
import { FormButtons } from "../components/form-buttons.tsx";
import { Page } from "../components/page.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { count } from "../format/text.ts";
import { formatLimits } from "./keys/format-limits.ts";

const PAGE_SIZE = 20;

export function Screen() {
  const [address, setAddress] = useAddress();
  const { data, error, refetch } = useQuery(teamsQuery({ page: Number(address.page ?? 1), pageSize: PAGE_SIZE }));
  const [isOpen, dialog] = useDisclosure(false);
  const make = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      Create team
    </Button>
  );
  return (
    <Page title="Teams" about="A team has members, API keys and limits. Teams are blocked when credits run out." action={make}>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <Card>
        <DataTable
          label="Teams"
          columns={COLUMNS}
          rows={data?.data}
          rowKey={(team) => team.id}
          empty={
            <Empty icon={IconUsersGroup} title="No teams yet" action={make}>
              Create a team, then add an API key.
            </Empty>
          }
        />
        <Pages meta={data?.meta} unit="team" onPage={(page) => setAddress({ page })} />
      </Card>
      {isOpen && <NewTeam onClose={dialog.close} />}
    </Page>
  );
}

const COLUMNS: Column<Team>[] = [
  {
    title: "Name",
    cell: (team) => (
      <Anchor component={Link} to={`/teams/${team.id}`} fw={600} size="sm" style={{ overflowWrap: "anywhere" }}>
        {team.name}
      </Anchor>
    ),
  },
  { title: "Status", cell: (team) => <StateBadge state={team.status} /> },
  { title: "Members", cell: (team) => <Text size="sm">{count(team.memberCount, "member")}</Text>, isNumber: true, wideOnly: true },
  { title: "Keys", cell: (team) => <Text size="sm">{count(team.keyCount, "key")}</Text>, isNumber: true, wideOnly: true },
  { title: "Limits", cell: (team) => <Text size="sm">{formatLimits(team)}</Text>, wideOnly: true },
  { title: "Spend (30 days)", cell: (team) => <Usd amount={team.spendUsd} size="sm" />, isNumber: true },
];

function NewTeam({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const form = useForm({ mode: "uncontrolled", initialValues: { name: "" } });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (body: { name: string }) => post<{ team: Team }>("/api/gw/teams", body),
    onSuccess: async ({ team }) => {
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["teams"] }), queryClient.invalidateQueries({ queryKey: ["me"] })]);
      await navigate({ to: `/teams/${team.id}` });
    },
  });
  return (
    <Modal opened onClose={onClose} title="Create team" centered>
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack>
          <Failure error={error} />
          <TextInput
            label="Name"
            placeholder="Research"
            required
            maxLength={100}
            data-autofocus
            key={form.key("name")}
            {...form.getInputProps("name")}
          />
          <FormButtons action="Create team" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
