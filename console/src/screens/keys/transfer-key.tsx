import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import { teamsQuery } from "../../api/queries.ts";
import type { ApiKey } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { otherTeams } from "./other-teams.ts";

/** Moves a key to another team of the organization. */
export function TransferKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const queryClient = useQueryClient();
  const { data: teams } = useQuery(teamsQuery());
  const [team, setTeam] = useState<string | null>(null);
  const others = otherTeams(teams?.data, apiKey).map(({ id, name }) => ({ value: id, label: name }));
  const { mutate, isPending, error } = useMutation({
    mutationFn: (teamId: string) => post<{ apiKey: ApiKey }>("/api/api-keys/transfer", { apiKey: apiKey.id, team_id: teamId }),
    onSuccess: async (answer) => {
      await queryClient.invalidateQueries();
      notifyDone(`${apiKey.name} moved to ${answer.apiKey.teamName}.`);
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Move ${apiKey.name} to another team`} centered>
      <Stack>
        <Text size="sm">
          The secret, limits and budget of the key stay. Within a second, the limits and models of the new team apply and its calls count
          there. Calls made so far, and files or assistants stored with the key, stay with {apiKey.teamName}.
        </Text>
        <Failure error={error} />
        {teams && others.length === 0 ? (
          <Text size="sm">The organization has no other team that you can use.</Text>
        ) : (
          <Select label="New team" data={others} value={team} onChange={setTeam} searchable data-autofocus />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button disabled={team === null} loading={isPending} onClick={() => team && mutate(team)}>
            Move key
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
