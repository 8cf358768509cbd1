import { Button, Checkbox, Group, Modal, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call, post } from "../../api/client.ts";
import type { Alert } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { nanoNumber, readUsd, usdOf } from "../../format/money.ts";

type Metric = Alert["metric"];

interface Values {
  name: string;
  metric: Metric;
  threshold: string;
  windowMinutes: string;
  period: string;
  model: string;
  email: boolean;
  slackUrl: string;
}

const METRICS = [
  { value: "error_rate", label: "Error rate (%)" },
  { value: "latency_p95", label: "Latency, 95th percentile (ms)" },
  { value: "spend", label: "Spend (USD)" },
];
const WINDOWS = ["15", "30", "60", "180", "360", "720", "1440"];

/** Creates an alert, or changes one. */
export function AlertForm({ alert, onClose }: { alert: Alert | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const form = useForm<Values>({
    initialValues: valuesOf(alert),
    validate: { threshold: (text, { metric }) => (thresholdOf(metric, text) === undefined ? "Enter a number above zero." : null) },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: Values) =>
      alert ? call("PATCH", `/api/gw/alerts/${alert.id}`, { body: bodyOf(values, alert) }) : post("/api/gw/alerts", bodyOf(values, alert)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["alerts"] });
      onClose();
    },
  });
  const { metric } = form.getValues();
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
            <NativeSelect label="Window in minutes" data={WINDOWS} {...form.getInputProps("windowMinutes")} />
          )}
          <TextInput label="Model" placeholder="All models" {...form.getInputProps("model")} />
          <Checkbox label="Mail owners and admins" {...form.getInputProps("email", { type: "checkbox" })} />
          <TextInput
            label="Slack URL"
            type="url"
            description="An incoming webhook of Slack or of a service with the same format. Stored encrypted."
            placeholder={alert?.slackHost ? `Unchanged: ${alert.slackHost}` : "https://hooks.slack.com/services/…"}
            {...form.getInputProps("slackUrl")}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending}>
              {alert ? "Save" : "Add"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function valuesOf(alert: Alert | undefined): Values {
  return {
    name: alert?.name ?? "",
    metric: alert?.metric ?? "error_rate",
    threshold: alert ? thresholdText(alert) : "5",
    windowMinutes: String(alert?.windowMinutes ?? 15),
    period: alert?.period ?? "day",
    model: alert?.model ?? "",
    email: alert?.email ?? true,
    slackUrl: "",
  };
}

function thresholdText({ errorRatePercent, latencyP95Ms, spend }: Alert): string {
  return spend === null ? String(errorRatePercent ?? latencyP95Ms ?? "") : usdOf(spend);
}

/** The threshold as the API's field; undefined if the text is not valid. */
function thresholdOf(metric: Metric, text: string) {
  const usd = readUsd(text);
  if (usd === undefined) return undefined;
  switch (metric) {
    case "error_rate":
      return { errorRatePercent: Number(usd) };
    case "latency_p95":
      return { latencyP95Ms: Math.round(Number(usd)) };
    case "spend":
      return { spend: nanoNumber(usd) };
  }
}

function bodyOf({ name, metric, threshold, windowMinutes, period, model, email, slackUrl }: Values, alert: Alert | undefined) {
  return {
    name,
    ...thresholdOf(metric, threshold),
    ...(metric === "spend" ? { period } : { windowMinutes: Number(windowMinutes) }),
    // Null clears a model that was set.
    model: model.trim() === "" ? (alert ? null : undefined) : model.trim(),
    email,
    slackUrl: slackUrl.trim() === "" ? undefined : slackUrl.trim(),
  };
}
