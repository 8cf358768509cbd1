import { Button, Group, Modal, NumberInput, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { createFederation, strategiesQuery } from "../../api/training.ts";
import { Failure } from "../../components/failure.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { nanoNumber, readUsd } from "../../format/money.ts";

const TASKS = ["softmax", "logistic", "linear", "mlp", "cnn", "text_classifier"];

/** The common settings of a federation; the API and the CLI have all of them. */
export function NewFederation({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState({
    name: "",
    task: "softmax",
    dataset: '{"name": "digits"}',
    strategy: "fedavg",
    rounds: 5,
    nodes: "",
    places: 0,
    budget: "",
  });
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => createFederation(bodyOf(form)),
    onSuccess: ({ federation, joinTokens }) => {
      if (joinTokens.length > 0) showSecret({ title: "Join tokens, one per participant", secrets: joinTokens });
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
          <Failure error={error} />
          <Fields form={form} set={set} />
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

function Fields({ form, set }: { form: Form; set: (change: Partial<Form>) => void }) {
  const { data: strategies } = useQuery(strategiesQuery);
  return (
    <>
      <TextInput label="Name" required value={form.name} onChange={(event) => set({ name: event.currentTarget.value })} data-autofocus />
      <Group grow>
        <Select label="Task" data={TASKS} value={form.task} onChange={(task) => set({ task: task ?? "softmax" })} allowDeselect={false} />
        <Select
          label="Strategy"
          data={strategies?.map(({ name }) => name) ?? [form.strategy]}
          searchable
          value={form.strategy}
          onChange={(strategy) => set({ strategy: strategy ?? "fedavg" })}
          allowDeselect={false}
        />
        <NumberInput label="Rounds" min={1} value={form.rounds} onChange={(value) => set({ rounds: Number(value) || 1 })} />
      </Group>
      <TextInput
        label="Dataset (JSON)"
        description="What each participant loads. Leave empty to use the participant's own data."
        value={form.dataset}
        onChange={(event) => set({ dataset: event.currentTarget.value })}
      />
      <Textarea
        label="Trainer nodes"
        description="One URL per line"
        placeholder="http://10.0.0.5:4100"
        autosize
        minRows={2}
        value={form.nodes}
        onChange={(event) => set({ nodes: event.currentTarget.value })}
      />
      <Group grow>
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
    </>
  );
}

interface Form {
  name: string;
  task: string;
  dataset: string;
  strategy: string;
  rounds: number;
  nodes: string;
  places: number;
  budget: string;
}

function bodyOf({ name, task, dataset, strategy, rounds, nodes, places, budget }: Form): object {
  const urls = nodes.split(/\s+/).filter(Boolean);
  const usd = readUsd(budget);
  if (budget.trim() !== "" && Number(budget) !== 0 && usd === undefined) throw new Error("Enter the reward in USD, such as 0.50.");
  return {
    name,
    task: { name: task, ...(dataset.trim() === "" ? {} : { dataset: JSON.parse(dataset) as unknown }) },
    strategy: { name: strategy },
    rounds,
    participants: [...urls.map((url) => ({ url })), ...Array.from({ length: places }, () => ({ join: true }))],
    ...(usd === undefined ? {} : { budgetNanoUsd: nanoNumber(usd) }),
  };
}
