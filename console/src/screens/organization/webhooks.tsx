import { Button, Checkbox, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconWebhook } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { WEBHOOK_EVENTS } from "../../../../common/webhook-events.ts";
import { call, get, post } from "../../api/client.ts";
import type { Delivery, List, Webhook } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure, notifyFailure } from "../../components/failure.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { StateBadge } from "../../components/state-badge.tsx";
import { ago, count } from "../../format/text.ts";

/** Webhooks of the organization. */
export function Webhooks() {
  const { data, error } = useQuery({
    queryKey: ["webhooks"],
    queryFn: ({ signal }) => get<List<Webhook>>("/api/gw/webhooks", { pageSize: 100 }, signal),
  });
  return (
    <Card title="Webhooks" about="Signed as Standard Webhooks. Failed deliveries are retried for one day.">
      <Stack gap="lg">
        <Failure error={error} />
        {data?.data.length === 0 && (
          <Empty icon={IconWebhook} title="No webhooks yet">
            Add a URL below to receive events, such as a low balance, blocked teams or a new API key.
          </Empty>
        )}
        {data?.data.map((webhook) => (
          <WebhookRow key={webhook.id} webhook={webhook} />
        ))}
        {!error && <NewWebhook />}
      </Stack>
    </Card>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: ["webhooks"] });
  const { data: deliveries } = useQuery({
    queryKey: ["webhooks", webhook.id, "deliveries"],
    queryFn: ({ signal }) => get<List<Delivery>>(`/api/gw/webhooks/${webhook.id}/deliveries`, { pageSize: 3 }, signal),
    refetchInterval: 5_000,
  });
  const test = useMutation({ mutationFn: () => post(`/api/gw/webhooks/${webhook.id}/test`), onSuccess: refresh, onError: notifyFailure });
  const [isDeleting, setDeleting] = useState(false);
  const remove = useMutation({ mutationFn: () => call("DELETE", `/api/gw/webhooks/${webhook.id}`), onSuccess: refresh });
  return (
    <div>
      <Group justify="space-between">
        <div style={{ minWidth: 0 }}>
          <Text fw={600} style={{ overflowWrap: "anywhere" }}>
            {webhook.url}
          </Text>
          <Text size="sm" c="dimmed">
            {webhook.events.join(", ")}
          </Text>
        </div>
        <Group gap="xs">
          <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send test
          </Button>
          <Button size="xs" variant="subtle" color="red" onClick={() => setDeleting(true)} aria-label={`Delete ${webhook.url}`}>
            Delete
          </Button>
        </Group>
      </Group>
      {deliveries?.data.map((delivery) => (
        <Group key={delivery.id} gap="xs" mt={4}>
          <StateBadge state={delivery.status} />
          <Text size="xs">
            {delivery.type}, {count(delivery.attempts, "attempt")}, {ago(delivery.createdAt)}
            {delivery.error && `: ${delivery.error}`}
          </Text>
        </Group>
      ))}
      {isDeleting && (
        <Confirm
          title="Delete webhook"
          action="Delete"
          error={remove.error}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => setDeleting(false)}
        >
          {webhook.url} receives no more events, and its pending deliveries are dropped. A new webhook has another secret.
        </Confirm>
      )}
    </div>
  );
}

function NewWebhook() {
  const queryClient = useQueryClient();
  const form = useForm({
    initialValues: { url: "", events: ["balance.low", "balance.blocked"] },
    validate: { events: (events) => (events.length === 0 ? "Choose at least one event." : null) },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (body: { url: string; events: string[] }) => post<{ webhook: Webhook; secret: string }>("/api/gw/webhooks", body),
    onSuccess: async (made) => {
      showSecret({ title: "Webhook signing secret", secrets: [made.secret] });
      form.reset();
      await queryClient.invalidateQueries({ queryKey: ["webhooks"] });
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        <Failure error={error} />
        <TextInput label="URL" type="url" required placeholder="https://example.org/hooks/tributary" {...form.getInputProps("url")} />
        <Checkbox.Group label="Events" {...form.getInputProps("events")}>
          <Group mt={6}>
            {WEBHOOK_EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={event} />
            ))}
          </Group>
        </Checkbox.Group>
        <Button type="submit" variant="default" loading={isPending} style={{ alignSelf: "flex-start" }}>
          Add webhook
        </Button>
      </Stack>
    </form>
  );
}
