import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { organizationsQuery } from "../../api/queries.ts";
import { Failure, notifyDone, notifyFailure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";

export function OrganizationList() {
  const { data, error } = useQuery(organizationsQuery);
  const queryClient = useQueryClient();
  const { mutate, isPending, variables } = useMutation({
    mutationFn: (id: string) => call("PUT", "/api/gw/organizations", { body: { id, active: true } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      notifyDone("Switched organization.");
    },
    onError: notifyFailure,
  });
  return (
    <Stack gap="sm">
      <Failure error={error} />
      {!data && <Skeleton height={48} />}
      {data?.data.map(({ id, name, role, isActive, balanceUsd, status }) => (
        <Group key={id} justify="space-between" wrap="nowrap">
          <div style={{ minWidth: 0 }}>
            <Text fw={600} truncate>
              {name}
            </Text>
            <Group gap="xs">
              <Text size="sm" c="dimmed">
                {role}, <Usd amount={balanceUsd} />
              </Text>
              <StateBadge state={status} />
            </Group>
          </div>
          {isActive ? (
            <Text size="sm" fw={600}>
              Active
            </Text>
          ) : (
            <Button
              variant="default"
              size="xs"
              loading={isPending && variables === id}
              onClick={() => mutate(id)}
              aria-label={`Switch to ${name}`}
            >
              Switch
            </Button>
          )}
        </Group>
      ))}
    </Stack>
  );
}
