import { Fieldset, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { createFederation, strategiesQuery } from "../../api/training.ts";
import type { Strategy } from "../../api/types.ts";
import { Failure, notifyWarning } from "../../components/failure.tsx";
import { FormButtons } from "../../components/form-buttons.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { bodyOf, type FederationForm, type FieldsProps, joinCommand, NEW_FEDERATION } from "./federation-form.ts";
import { ParticipantFields } from "./participant-fields.tsx";
import { PrivacyFields } from "./privacy-fields.tsx";
import { SamplingFields } from "./sampling-fields.tsx";
import { StrategySettings } from "./strategy-settings.tsx";

const TASKS = ["softmax", "logistic", "linear", "mlp", "cnn", "text_classifier"];

const JOIN_TITLES = {
  places: "Commands to join, one per participant",
  link: "Command to join, the same for every participant",
  both: "Commands to join: one per place, and the last for everyone else",
};

/** The common settings of a federation; the API and the CLI have all of them. */
export function NewFederation({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState<FederationForm>(NEW_FEDERATION);
  const { data: strategies } = useQuery(strategiesQuery);
  const strategy = strategies?.find(({ name }) => name === form.strategy);
  const set = (change: Partial<FederationForm>) => setForm({ ...form, ...change });
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => createFederation(bodyOf(form)),
    onSuccess: ({ federation, joinTokens, joinLink, warnings }) => {
      const tokens = [...joinTokens, ...(joinLink === null ? [] : [joinLink])];
      const secrets = tokens.map((token) => joinCommand(location.origin, token));
      if (secrets.length > 0)
        showSecret({ title: JOIN_TITLES[joinLink === null ? "places" : joinTokens.length === 0 ? "link" : "both"], secrets });
      for (const warning of warnings) notifyWarning(warning);
      void queryClient.invalidateQueries({ queryKey: ["federations"] });
      void navigate({ to: `/training/${federation.id}` });
    },
  });
  return (
    <Modal opened onClose={onClose} title="Create federation" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate();
        }}
      >
        <Stack gap="sm">
          <ModelFields form={form} set={set} />
          <ParticipantFields form={form} set={set} />
          <SamplingFields form={form} set={set} />
          <StrategyFields form={form} set={set} strategies={strategies} />
          <PrivacyFields form={form} set={set} strategy={strategy} />
          <Failure error={error} />
          <FormButtons action="Create" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

function ModelFields({ form, set }: FieldsProps) {
  return (
    <Fieldset legend="Model and data">
      <Stack gap="sm">
        <TextInput label="Name" required value={form.name} onChange={(event) => set({ name: event.currentTarget.value })} data-autofocus />
        <Group grow>
          <Select label="Task" data={TASKS} value={form.task} onChange={(task) => set({ task: task ?? "softmax" })} allowDeselect={false} />
          <NumberInput label="Rounds" min={1} value={form.rounds} onChange={(value) => set({ rounds: Number(value) || 1 })} />
        </Group>
        <TextInput
          label="Dataset (JSON)"
          description="What each participant loads. Leave empty to use the participant's own data."
          value={form.dataset}
          onChange={(event) => set({ dataset: event.currentTarget.value })}
        />
      </Stack>
    </Fieldset>
  );
}

function StrategyFields({ form, set, strategies }: FieldsProps & { strategies: readonly Strategy[] | undefined }) {
  const strategy = strategies?.find(({ name }) => name === form.strategy);
  return (
    <Fieldset legend="Strategy">
      <Stack gap="sm">
        <Select
          label="Strategy"
          data={strategies?.map(({ name }) => name) ?? [form.strategy]}
          searchable
          value={form.strategy}
          onChange={(next) => set({ strategy: next ?? "fedavg", settings: {} })}
          allowDeselect={false}
        />
        {strategy && (
          <Text size="sm" c="dimmed">
            {strategy.description}
          </Text>
        )}
        <StrategySettings strategy={strategy} values={form.settings} onValues={(settings) => set({ settings })} />
      </Stack>
    </Fieldset>
  );
}
