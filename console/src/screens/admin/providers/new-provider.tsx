import { Button, Group, PasswordInput, Select, Stack, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providerKindsQuery } from "../../../api/admin.ts";
import type { Provider } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

const NOTHING = { name: "", kind: "openai", baseUrl: "", apiKey: "" };

export function NewProvider({ onAdded }: { onAdded: (provider: Provider) => void }) {
  const [form, setForm] = useState(NOTHING);
  const { mutate, error, isPending } = useAdminChange<{ provider: Provider }>(({ provider }) => {
    setForm(NOTHING);
    onAdded(provider);
  });
  const kinds = useQuery(providerKindsQuery);
  const chosen = kinds.data?.data.find(({ kind }) => kind === form.kind);
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const add = () => {
    const { name, kind, baseUrl, apiKey } = form;
    const body = { name, kind, ...(baseUrl === "" ? {} : { baseUrl }), ...(apiKey === "" ? {} : { apiKey }) };
    mutate({ method: "POST", path: "providers", body, done: `${name} added.` });
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
          Add provider
        </Title>
        <Failure error={error ?? kinds.error} />
        <Group align="flex-end">
          <TextInput label="Name" required value={form.name} onChange={(event) => set({ name: event.currentTarget.value })} />
          <Select
            label="Kind"
            data={(kinds.data?.data ?? []).map(({ kind, name }) => ({ value: kind, label: name }))}
            value={form.kind}
            onChange={(kind) => set({ kind: kind ?? "openai" })}
            allowDeselect={false}
            searchable
          />
          <TextInput
            label="Base URL"
            placeholder={chosen?.baseUrl ?? (chosen?.needsBaseUrl ? "https://" : "Default of the kind")}
            required={chosen?.needsBaseUrl ?? false}
            value={form.baseUrl}
            onChange={(event) => set({ baseUrl: event.currentTarget.value })}
          />
          <PasswordInput
            label="API key"
            value={form.apiKey}
            onChange={(event) => set({ apiKey: event.currentTarget.value })}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show API key" }}
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
