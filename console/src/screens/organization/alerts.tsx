import { Button, Group, Stack, Text } from "@mantine/core";
import { IconBellRinging } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, get, post } from "../../api/client.ts";
import { teamsQuery } from "../../api/queries.ts";
import type { Alert, AlertDelivery, List } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure, notifyDone, notifyFailure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { ago, count } from "../../format/text.ts";
import { AlertForm } from "./alert-form.tsx";
import { ruleText, valueText } from "./alert-text.ts";

/** Alerts of the organization on error rate, latency and spend. */
export function Alerts() {
  const [edited, setEdited] = useState<Alert | "new">();
  const { data, error } = useQuery({
    queryKey: ["alerts"],
    queryFn: ({ signal }) => get<List<Alert>>("/api/gw/alerts", { pageSize: 100 }, signal),
    refetchInterval: 30_000,
  });
  return (
    <Card
      title="Alerts"
      about="One message when an alert fires and one when it resolves: by mail, Slack URL and webhook (alert.firing, alert.resolved)."
    >
      <Stack gap="lg">
        <Failure error={error} />
        {data?.data.length === 0 && (
          <Empty icon={IconBellRinging} title="No alerts yet">
            Add a rule on the error rate, the latency or the spend of your calls.
          </Empty>
        )}
        {data?.data.map((alert) => (
          <AlertRow key={alert.id} alert={alert} onEdit={() => setEdited(alert)} />
        ))}
        {data && (
          <Button variant="default" onClick={() => setEdited("new")} style={{ alignSelf: "flex-start" }}>
            Add alert
          </Button>
        )}
      </Stack>
      {edited && <AlertForm alert={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </Card>
  );
}

function AlertRow({ alert, onEdit }: { alert: Alert; onEdit: () => void }) {
  const { id, name, state, since } = alert;
  const queryClient = useQueryClient();
  const [isDeleting, setDeleting] = useState(false);
  const { data: teams } = useQuery({ ...teamsQuery(), enabled: alert.team_id !== null });
  const teamName = teams?.data.find((team) => team.id === alert.team_id)?.name;
  const refresh = () => queryClient.invalidateQueries({ queryKey: ["alerts"] });
  const { data: deliveries } = useQuery({
    queryKey: ["alerts", id, "deliveries"],
    queryFn: ({ signal }) => get<List<AlertDelivery>>(`/api/gw/alerts/${id}/deliveries`, { pageSize: 3 }, signal),
    refetchInterval: 5_000,
  });
  const test = useMutation({
    mutationFn: () => post<{ receivers: number }>(`/api/gw/alerts/${id}/test`),
    onSuccess: async ({ receivers }) => {
      notifyDone(
        receivers === 0
          ? "The alert has no receiver: turn on mail, add a Slack URL or a webhook."
          : `Sent to ${count(receivers, "receiver")}.`,
      );
      await refresh();
    },
    onError: notifyFailure,
  });
  const remove = useMutation({ mutationFn: () => call("DELETE", `/api/gw/alerts/${id}`), onSuccess: refresh });
  return (
    <div>
      <Group justify="space-between">
        <div style={{ minWidth: 0 }}>
          <Group gap="xs">
            <StateBadge state={state} />
            <Text fw={600} style={{ overflowWrap: "anywhere" }}>
              {name}
            </Text>
          </Group>
          <Text size="sm" c="dimmed">
            {ruleText(alert, teamName)}. {valueText(alert)}, {state} since {ago(since)}.
          </Text>
        </div>
        <Group gap="xs">
          <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()} aria-label={`Send a test of ${name}`}>
            Send test
          </Button>
          <Button size="xs" variant="default" onClick={onEdit} aria-label={`Edit ${name}`}>
            Edit
          </Button>
          <Button size="xs" variant="subtle" color="red" onClick={() => setDeleting(true)} aria-label={`Delete ${name}`}>
            Delete
          </Button>
        </Group>
      </Group>
      {deliveries?.data.map((delivery) => (
        <Group key={delivery.id} gap="xs" mt={4}>
          <StateBadge state={delivery.status} />
          <Text size="xs">
            {delivery.type} to {delivery.receiver}, {ago(delivery.createdAt)}
            {delivery.error && `: ${delivery.error}`}
          </Text>
        </Group>
      ))}
      {isDeleting && (
        <Confirm
          title="Delete alert"
          action="Delete"
          error={remove.error}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => setDeleting(false)}
        >
          {name} no longer fires, and its pending messages are dropped.
        </Confirm>
      )}
    </div>
  );
}
