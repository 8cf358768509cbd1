import { Modal, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Provider } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Changes a provider's name or address, or replaces its API key. Stored keys are never shown. */
export function EditProvider({ provider: { id, name }, onClose }: { provider: Provider; onClose: () => void }) {
  const [form, setForm] = useState({ name, baseUrl: "", apiKey: "" });
  const { mutate, error, isPending } = useAdminChange(onClose);
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const body = {
    ...(form.name.trim() === name ? {} : { name: form.name.trim() }),
    ...(form.baseUrl === "" ? {} : { baseUrl: form.baseUrl }),
    ...(form.apiKey === "" ? {} : { apiKey: form.apiKey }),
  };
  return (
    <Modal opened onClose={onClose} title={`Edit ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ method: "PATCH", path: `providers/${id}`, body, done: `${form.name} saved.` });
        }}
      >
        <Stack>
          <Failure error={error} />
          <TextInput
            label="Name"
            required
            value={form.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
            data-autofocus
          />
          <TextInput
            label="New base URL"
            description="Empty: the address stays as it is"
            placeholder="https://"
            value={form.baseUrl}
            onChange={(event) => set({ baseUrl: event.currentTarget.value })}
          />
          <PasswordInput
            label="New API key"
            description="Empty: the key stays as it is. New calls use the new key within a second"
            value={form.apiKey}
            onChange={(event) => set({ apiKey: event.currentTarget.value })}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show API key" }}
          />
          <FormButtons action="Save" isPending={isPending} isDisabled={Object.keys(body).length === 0} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
