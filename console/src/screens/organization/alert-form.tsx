import { Checkbox, Modal, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, post } from "../../api/client.ts";
import { teamsQuery } from "../../api/queries.ts";
import type { Alert } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { FormButtons } from "../../components/form-buttons.tsx";
import { type AlertValues, bodyOf, isRequestCount, thresholdOf, valuesOf, windowsOf } from "./alert-values.ts";

const METRICS = [
  { value: "error_rate", label: "Error rate (%)" },
  { value: "latency_p95", label: "Latency, 95th percentile (ms)" },
  { value: "spend", label: "Spend (USD)" },
];

/** Creates an alert, or changes one. */
export function AlertForm({ alert, onClose }: { alert: Alert | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const form = useForm<AlertValues>({
    initialValues: valuesOf(alert),
    validate: {
      threshold: (text, { metric }) => (thresholdOf(metric, text) === undefined ? "Enter a number above zero." : null),
      minRequests: (text, { metric }) => (metric === "spend" || isRequestCount(text) ? null : "Enter a whole number from 1 to 1,000,000."),
    },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: AlertValues) =>
      alert ? call("PATCH", `/api/gw/alerts/${alert.id}`, { body: bodyOf(values, alert) }) : post("/api/gw/alerts", bodyOf(values, alert)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["alerts"] });
      onClose();
    },
  });
  const { data: teams } = useQuery(teamsQuery());
  const { metric, teamId, removesSlack } = form.getValues();
  const isListed = teamId === "" || teams?.data.some(({ id }) => id === teamId);
  const teamOptions = [
    { value: "", label: "All teams" },
    ...(teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
    ...(isListed ? [] : [{ value: teamId, label: teamId }]),
  ];
  return (
    <Modal opened onClose={onClose} title={alert ? "Edit alert" : "New alert"} centered>
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack>
          <Failure error={error} />
          <TextInput label="Name" required maxLength={100} data-autofocus {...form.getInputProps("name")} />
          <NativeSelect label="Metric" data={METRICS} {...form.getInputProps("metric")} />
          <TextInput label="Fires at" required inputMode="decimal" {...form.getInputProps("threshold")} />
          {metric === "spend" ? (
            <NativeSelect label="Period (UTC)" data={["day", "month"]} {...form.getInputProps("period")} />
          ) : (
            <>
              <NativeSelect label="Window in minutes" data={windowsOf(alert)} {...form.getInputProps("windowMinutes")} />
              <TextInput label="Minimum of calls in the window" required inputMode="numeric" {...form.getInputProps("minRequests")} />
            </>
          )}
          <TextInput label="Model" placeholder="All models" {...form.getInputProps("model")} />
          <NativeSelect label="Team" data={teamOptions} {...form.getInputProps("teamId")} />
          <Checkbox label="Mail owners and admins" {...form.getInputProps("email", { type: "checkbox" })} />
          <TextInput
            label="Slack URL"
            type="url"
            description="An incoming webhook of Slack or of a service with the same format. Stored encrypted."
            placeholder={alert?.slackHost ? `Unchanged: ${alert.slackHost}` : "https://hooks.slack.com/services/…"}
            disabled={removesSlack}
            {...form.getInputProps("slackUrl")}
          />
          {alert?.slackHost && (
            <Checkbox label={`Remove the Slack URL (${alert.slackHost})`} {...form.getInputProps("removesSlack", { type: "checkbox" })} />
          )}
          <FormButtons action={alert ? "Save" : "Add"} isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
