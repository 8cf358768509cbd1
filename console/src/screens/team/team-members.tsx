import { ActionIcon, Select, Stack, Text } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { TeamDetail, TeamMember } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { notifyDone, notifyFailure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { ago, count } from "../../format/text.ts";
import { InviteMember } from "./invite-member.tsx";

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
      <InviteMember team={team} />
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
