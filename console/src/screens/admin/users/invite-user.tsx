import { Modal, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { teamsQuery } from "../../../api/queries.ts";
import { InviteMember } from "../../team/invite-member.tsx";

/** Invites a user to a team of the active organization: an invitation is always to a team. */
export function InviteUser({ onClose }: { onClose: () => void }) {
  const { data } = useQuery(teamsQuery({ pageSize: 100 }));
  const [chosen, setChosen] = useState<string>();
  const teams = data?.data ?? [];
  const team = teams.find(({ id }) => id === chosen) ?? teams[0];
  return (
    <Modal opened onClose={onClose} title="Invite user" size="lg" centered>
      <Stack>
        <Text size="sm">
          Creates an invitation link to a team of the active organization. It is also mailed where mail is configured. Members of the
          organization join immediately.
        </Text>
        <Select
          label="Team"
          data={teams.map(({ id, name }) => ({ value: id, label: name }))}
          value={team?.id ?? null}
          onChange={(id) => id && setChosen(id)}
          allowDeselect={false}
        />
        {team && <InviteMember team={team} key={team.id} />}
      </Stack>
    </Modal>
  );
}
