import { Button, Group, PasswordInput, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconPlugConnected } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providersQuery } from "../../api/admin.ts";
import type { Provider } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { useAdminChange } from "./use-admin-change.ts";

const KINDS = [
  ...["openai", "anthropic", "azure", "bedrock", "vertex_ai", "gemini", "mistral", "cohere", "groq", "deepseek", "xai", "openrouter"],
  ...["together", "fireworks", "cerebras", "nvidia", "perplexity", "ollama", "vllm", "lm_studio", "openai_compatible"],
];
const NOTHING = { name: "", kind: "openai", baseUrl: "", apiKey: "" };

export function Providers() {
  const { data, error } = useQuery({ ...providersQuery, refetchInterval: 10_000 });
  const [leaving, setLeaving] = useState<Provider | undefined>();
  const removing = useAdminChange(() => setLeaving(undefined));
  const columns: Column<Provider>[] = [
    {
      title: "Provider",
      cell: ({ name, kind }) => (
        <div>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {kind}
          </Text>
        </div>
      ),
    },
    { title: "Health", cell: ({ status }) => <StateBadge state={status} /> },
    { title: "Models", cell: ({ modelCount }) => <Text size="sm">{modelCount}</Text>, isNumber: true },
    {
      title: "Action",
      cell: (provider) => (
        <Button size="compact-xs" variant="default" onClick={() => setLeaving(provider)} aria-label={`Remove ${provider.name}`}>
          Remove
        </Button>
      ),
      isNumber: true,
    },
  ];
  return (
    <>
      <Failure error={error} />
      <DataTable
        label="Providers"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={<Empty icon={IconPlugConnected} title="No provider yet" />}
      />
      <NewProvider />
      {leaving && (
        <TypedConfirm
          title="Remove a provider"
          word={leaving.name}
          action="Remove"
          error={removing.error}
          isBusy={removing.isPending}
          onConfirm={() => removing.mutate({ method: "DELETE", path: `providers/${leaving.id}`, done: `${leaving.name} is removed.` })}
          onClose={() => setLeaving(undefined)}
        >
          Its models can no longer be called.
        </TypedConfirm>
      )}
    </>
  );
}

function NewProvider() {
  const [form, setForm] = useState(NOTHING);
  const { mutate, error, isPending } = useAdminChange(() => setForm(NOTHING));
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const add = () => {
    const { name, kind, baseUrl, apiKey } = form;
    const body = { name, kind, ...(baseUrl === "" ? {} : { baseUrl }), ...(apiKey === "" ? {} : { apiKey }) };
    mutate({ method: "POST", path: "providers", body, done: `${name} is added.` });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <Stack gap="xs" mt="lg">
        <Title order={3} size="h6">
          Add a provider
        </Title>
        <Failure error={error} />
        <Group align="flex-end">
          <TextInput label="Name" required value={form.name} onChange={(event) => set({ name: event.currentTarget.value })} />
          <Select
            label="Kind"
            data={KINDS}
            value={form.kind}
            onChange={(kind) => set({ kind: kind ?? "openai" })}
            allowDeselect={false}
            searchable
          />
          <TextInput
            label="Address"
            placeholder="the kind's own"
            value={form.baseUrl}
            onChange={(event) => set({ baseUrl: event.currentTarget.value })}
          />
          <PasswordInput
            label="Key, never shown again"
            value={form.apiKey}
            onChange={(event) => set({ apiKey: event.currentTarget.value })}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show the key" }}
            w={200}
          />
          <Button type="submit" loading={isPending}>
            Add
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
