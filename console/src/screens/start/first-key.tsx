import { Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { post } from "../../api/client.ts";
import { teamsQuery } from "../../api/queries.ts";
import type { ApiKey } from "../../api/types.ts";
import { notifyFailure } from "../../components/failure.tsx";
import { rememberSecret } from "../../components/last-secret.ts";
import { showSecret } from "../../components/shown-secret.ts";

/** Creates a key of the first team with one click; limits can be set later. */
export function FirstKey() {
  const { data: teams } = useQuery(teamsQuery());
  const queryClient = useQueryClient();
  const team = teams?.data[0];
  const { mutate, isPending } = useMutation({
    mutationFn: (teamId: string) => post<{ apiKey: ApiKey; key: string }>("/api/gw/api-keys", { name: "first key", team_id: teamId }),
    onSuccess: ({ apiKey, key }) => {
      rememberSecret(apiKey.id, key);
      showSecret({ title: "Your first key", secrets: [key] });
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
    },
    onError: notifyFailure,
  });
  return (
    <>
      <Text size="sm" mb="sm">
        An API key authenticates calls to the gateway. It belongs to a team, which is billed for its calls.
      </Text>
      <Group>
        <Button loading={isPending} disabled={!team} onClick={() => team && mutate(team.id)}>
          Create key
        </Button>
      </Group>
    </>
  );
}
