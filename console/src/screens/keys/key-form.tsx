import { Modal, Select, Stack, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { post } from "../../api/client.ts";
import { meQuery, teamsQuery } from "../../api/queries.ts";
import type { ApiKey } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { FormButtons } from "../../components/form-buttons.tsx";
import { rememberSecret } from "../../components/last-secret.ts";
import { budgetProblem, LimitFields, type LimitValues, limitBody, limitValues } from "../../components/limit-fields.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { ContentFields } from "./content-fields.tsx";
import { type ContentValues, contentBody, contentValues } from "./content-values.ts";
import { SCOPE_CHOICES, scopesOf, scopeValue } from "./scope-values.ts";

interface KeyValues extends LimitValues, ContentValues, Record<string, unknown> {
  name: string;
  teamId: string;
  usedFor: string;
  expiresOn: string;
}

/** Creates a key, or edits the name and limits of one. */
export function KeyForm({ apiKey, teamId, onClose }: { apiKey?: ApiKey | undefined; teamId?: string; onClose: () => void }) {
  const { data: teams } = useQuery(teamsQuery());
  const { data: me } = useQuery(meQuery);
  const queryClient = useQueryClient();
  const form = useForm<KeyValues>({
    initialValues: {
      name: apiKey?.name ?? "",
      teamId: apiKey?.teamId ?? teamId ?? "",
      usedFor: scopeValue(apiKey?.scopes),
      expiresOn: apiKey?.expiresAt?.slice(0, 10) ?? "",
      ...limitValues(apiKey),
      ...contentValues(apiKey),
    },
    validate: { budgetUsd: budgetProblem, name: (name) => (name.trim() === "" ? "Enter a name." : null) },
  });
  const chosenTeam = form.values.teamId || teams?.data[0]?.id || "";
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (values: KeyValues) => {
      const content = contentBody(values, contentValues(apiKey));
      const scopes = scopesOf(values.usedFor);
      const body = { name: values.name.trim(), scopes, ...limitBody(values), ...content, expiresAt: endOfDay(values.expiresOn) };
      if (apiKey) return post<{ apiKey: ApiKey; key?: string }>("/api/api-keys/update", { ...body, token: apiKey.id });
      return post<{ apiKey: ApiKey; key?: string }>("/api/gw/api-keys", { ...body, team_id: chosenTeam });
    },
    onSuccess: (made) => {
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      void queryClient.invalidateQueries({ queryKey: ["team"] });
      if (made.key === undefined) notifyDone("Saved. Changes take effect within a second.");
      else {
        rememberSecret(made.apiKey.id, made.key);
        showSecret({ title: `Secret of ${made.apiKey.name}`, secrets: [made.key] });
      }
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={apiKey ? `Edit ${apiKey.name}` : "Create key"} size="lg">
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack>
          <Failure error={error} />
          <TextInput label="Name" placeholder="laptop" required maxLength={100} data-autofocus {...form.getInputProps("name")} />
          {!apiKey && (
            <Select
              label="Team"
              description="The team that owns the key and its spend"
              data={(teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
              {...form.getInputProps("teamId")}
              value={chosenTeam}
              allowDeselect={false}
              searchable
            />
          )}
          <Select
            label="Used for"
            description="What the key may do. An application that only makes calls needs no training."
            data={SCOPE_CHOICES}
            allowDeselect={false}
            {...form.getInputProps("usedFor")}
          />
          <LimitFields form={form as unknown as UseFormReturnType<LimitValues & Record<string, unknown>>} />
          <TextInput
            label="Expires"
            description="At the end of this day, UTC. Leave empty for no expiry."
            type="date"
            {...form.getInputProps("expiresOn")}
          />
          {me?.organization && me.organization.role !== "member" && (
            <ContentFields form={form as unknown as UseFormReturnType<ContentValues & Record<string, unknown>>} />
          )}
          <FormButtons action={apiKey ? "Save" : "Create key"} isPending={isPending} isDisabled={chosenTeam === ""} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

function endOfDay(date: string): string | null {
  return date === "" ? null : `${date}T23:59:59Z`;
}
