import { Button, Fieldset, Group, Modal, MultiSelect, NumberInput, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { createFederation, nodesQuery, strategiesQuery } from "../../api/training.ts";
import { Failure } from "../../components/failure.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { bodyOf, type FederationForm, type FieldsProps, joinCommand, NEW_FEDERATION } from "./federation-form.ts";
import { PrivacyFields } from "./privacy-fields.tsx";
import { StrategySettings } from "./strategy-settings.tsx";

const TASKS = ["softmax", "logistic", "linear", "mlp", "cnn", "text_classifier"];

/** The common settings of a federation; the API and the CLI have all of them. */
export function NewFederation({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState<FederationForm>(NEW_FEDERATION);
  const set = (change: Partial<FederationForm>) => setForm({ ...form, ...change });
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => createFederation(bodyOf(form)),
    onSuccess: ({ federation, joinTokens }) => {
      const secrets = joinTokens.map((token) => joinCommand(location.origin, token));
      if (secrets.length > 0) showSecret({ title: "Commands to join, one per participant", secrets });
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
          <StrategyFields form={form} set={set} />
          <PrivacyFields form={form} set={set} />
          <Failure error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending}>
              Create
            </Button>
          </Group>
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

function ParticipantFields({ form, set }: FieldsProps) {
  const { data: nodes } = useQuery(nodesQuery);
  const known = [
    ...new Map((nodes?.data ?? []).map(({ url, name, status }) => [url, { value: url, label: `${name || url} (${status})` }])).values(),
  ];
  return (
    <Fieldset legend="Participants">
      <Stack gap="sm">
        <MultiSelect
          label="Known nodes"
          placeholder={known.length === 0 ? "No nodes yet" : "Choose nodes"}
          data={known}
          value={[...form.chosenNodes]}
          onChange={(chosenNodes) => set({ chosenNodes })}
          searchable
        />
        <Textarea
          label="Other trainer nodes"
          description="One URL per line"
          placeholder="http://10.0.0.5:5000"
          autosize
          minRows={1}
          value={form.nodes}
          onChange={(event) => set({ nodes: event.currentTarget.value })}
        />
        <Group grow align="flex-start">
          <NumberInput
            label="Join tokens"
            description="For participants that cannot be reached by URL"
            min={0}
            max={100}
            value={form.places}
            onChange={(value) => set({ places: Number(value) || 0 })}
          />
          <TextInput
            label="Reward per round (USD)"
            description="Shared by the participants"
            placeholder="0"
            value={form.budget}
            onChange={(event) => set({ budget: event.currentTarget.value })}
          />
        </Group>
      </Stack>
    </Fieldset>
  );
}

function StrategyFields({ form, set }: FieldsProps) {
  const { data: strategies } = useQuery(strategiesQuery);
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
