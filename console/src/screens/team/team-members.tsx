import { ActionIcon, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { TeamDetail, TeamMember } from "../../api/types.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Failure, notifyDone, notifyFailure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { ago, count, formatTime } from "../../format/text.ts";

const ROLES = [
  { value: "member", label: "Member: uses the team's keys and models" },
  { value: "admin", label: "Admin: also manages members, keys and limits" },
  { value: "owner", label: "Owner: also manages admins and owners" },
];

export function TeamMembers({ team }: { team: TeamDetail }) {
  const [leaving, setLeaving] = useState<TeamMember>();
  const columns: Column<TeamMember>[] = [
    {
      title: "Member",
      cell: (member) => (
        <div style={{ minWidth: 110 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {member.name ?? member.email}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {member.status === "invited" && "invited, "}
            {member.email}
          </Text>
        </div>
      ),
    },
    { title: "Role", cell: (member) => <RoleSelect team={team} member={member} /> },
    { title: "Status", cell: (member) => <StateBadge state={member.status} />, wideOnly: true },
    { title: "Since", cell: (member) => <Text size="sm">{ago(member.joinedAt ?? member.invitedAt)}</Text>, wideOnly: true },
    {
      title: "Actions",
      cell: (member) => (
        <ActionIcon variant="subtle" color="red" onClick={() => setLeaving(member)} aria-label={`Remove ${member.email}`}>
          <IconTrash size={18} />
        </ActionIcon>
      ),
      isNumber: true,
    },
  ];
  return (
    <Stack gap="lg">
      <Invite team={team} />
      <DataTable
        label="Members"
        columns={columns}
        rows={team.members}
        rowKey={(member) => String(member.memberId)}
        empty={<Text>No members.</Text>}
      />
      {leaving && <Remove team={team} member={leaving} onClose={() => setLeaving(undefined)} />}
    </Stack>
  );
}

function RoleSelect({ team, member }: { team: TeamDetail; member: TeamMember }) {
  const queryClient = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (role: string) => post("/api/gw/teams/update-member", { teamId: team.id, memberId: member.memberId, role }),
    onSuccess: () => notifyDone(`Role of ${member.email} changed.`),
    onError: notifyFailure,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["team"] }),
  });
  return (
    <Select
      size="xs"
      w={104}
      aria-label={`Role of ${member.email}`}
      data={["member", "admin", "owner"]}
      value={member.role}
      disabled={isPending}
      allowDeselect={false}
      onChange={(role) => role && role !== member.role && mutate(role)}
    />
  );
}

interface Invited {
  member: TeamMember;
  created: boolean;
  inviteUrl: string | null;
  expiresAt: string | null;
}

function Invite({ team }: { team: TeamDetail }) {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { email: "", role: "member" } });
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: (values: { email: string; role: string }) =>
      post<Invited>("/api/gw/teams/invite-member", { teamId: team.id, teamName: team.name, ...values }),
    onSuccess: async (answer) => {
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["team"] }), queryClient.invalidateQueries({ queryKey: ["teams"] })]);
      form.setFieldValue("email", "");
      notifyDone(outcomeOf(answer));
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        <Group align="flex-end">
          <TextInput
            label="Invite by email"
            type="email"
            required
            placeholder="ada@example.org"
            flex={2}
            miw={220}
            {...form.getInputProps("email")}
          />
          <Select label="Role" data={ROLES} allowDeselect={false} flex={2} miw={220} {...form.getInputProps("role")} />
          <Button type="submit" loading={isPending}>
            Invite
          </Button>
        </Group>
        <Failure error={error} />
        {data?.inviteUrl && (
          <div>
            <Text size="sm" mb={4}>
              Send this link to {data.member.email}. It works once, for an account with that email, until{" "}
              {data.expiresAt && formatTime(data.expiresAt)}:
            </Text>
            <CodeBlock code={data.inviteUrl} label="Copy link" />
          </div>
        )}
      </Stack>
    </form>
  );
}

function outcomeOf({ member, created }: Invited): string {
  if (member.status === "active") return `${member.email} ${created ? "joined the team" : "is already a member"}.`;
  return created ? `${member.email} invited.` : `New link for ${member.email}. The previous link no longer works.`;
}

function Remove({ team, member, onClose }: { team: TeamDetail; member: TeamMember; onClose: () => void }) {
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ disabledKeys: string[] }>("/api/gw/teams/remove-member", { teamId: team.id, memberId: member.memberId }),
    onSuccess: async ({ disabledKeys }) => {
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["team"] }), queryClient.invalidateQueries({ queryKey: ["teams"] })]);
      const stopped = disabledKeys.length === 0 ? "" : ` ${count(disabledKeys.length, "key")} disabled.`;
      notifyDone(`${member.email} removed.${stopped}`);
      onClose();
    },
  });
  return (
    <TypedConfirm
      title={`Remove ${member.email}`}
      word={member.email}
      action="Remove member"
      error={error}
      isBusy={isPending}
      onConfirm={() => mutate()}
      onClose={onClose}
    >
      They lose access to the team and its keys. Keys they created in this team are disabled within a second; rotate a key to use it again.
    </TypedConfirm>
  );
}
