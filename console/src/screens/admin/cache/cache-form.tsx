import { Modal, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type CacheState, routingQuery } from "../../../api/gateway.ts";
import { Failure } from "../../../components/failure.tsx";
import { fieldProblem } from "../../../components/field-problem.ts";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { useAdminChange } from "../use-admin-change.ts";

type Configured = CacheState["configured"];

const SEMANTIC = [
  { value: "off", label: "Off: only identical requests" },
  { value: "opt_in", label: "For organizations that turn it on" },
  { value: "all", label: "For all organizations that do not turn it off" },
];
const TYPES = [
  { value: "memory", label: "Memory of each edge" },
  { value: "redis", label: "Redis, shared by all edges" },
];

/** Changes the stored settings of the response cache. Empty fields have their defaults. */
export function CacheForm({ configured, onClose }: { configured: Configured; onClose: () => void }) {
  const { environment } = configured;
  const [form, setForm] = useState(() => formOf(configured));
  const { mutate, error, isPending } = useAdminChange(onClose);
  const set = (change: Partial<Form>) => setForm({ ...form, ...change });
  return (
    <Modal opened onClose={onClose} title="Response cache" centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ method: "PUT", path: "cache", body: bodyOf(form), done: "Cache settings saved." });
        }}
      >
        <Stack gap="sm">
          <Failure error={error} />
          <Switch
            label="Cache responses"
            description={
              environment
                ? `CACHE=${environment} in the environment of the edges turns it on`
                : "Identical requests of an organization are billed once"
            }
            checked={form.enabled}
            disabled={environment !== null}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
            error={fieldProblem(error, "enabled")}
          />
          <Switch
            label="Use it for all requests"
            description="Otherwise for requests with caching: true"
            checked={form.byDefault}
            onChange={(event) => set({ byDefault: event.currentTarget.checked })}
          />
          <TextInput
            label="TTL, seconds"
            description="Until an entry expires; 600 unless set"
            inputMode="numeric"
            value={form.ttl}
            onChange={(event) => set({ ttl: event.currentTarget.value })}
            error={fieldProblem(error, "ttlSeconds")}
          />
          <Select
            label="Cache type"
            placeholder="Memory of each edge"
            data={TYPES}
            value={form.type || null}
            onChange={(chosen) => set({ type: chosen ?? "" })}
            disabled={environment !== null}
            error={fieldProblem(error, "type")}
            clearable
            clearButtonProps={{ "aria-label": "Clear cache type" }}
          />
          <Select
            label="Similar texts (semantic cache)"
            data={SEMANTIC}
            value={form.mode}
            onChange={(chosen) => set({ mode: chosen ?? "off" })}
            allowDeselect={false}
          />
          {form.mode !== "off" && <SemanticFields form={form} error={error} onChange={set} />}
          <FormButtons action="Save" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

interface SemanticFieldsProps {
  form: Form;
  error: unknown;
  onChange: (change: Partial<Form>) => void;
}

function SemanticFields({ form, error, onChange }: SemanticFieldsProps) {
  const { data } = useQuery(routingQuery);
  return (
    <>
      <Select
        label="Embedding model"
        description="Each comparison is a billed call of it"
        data={(data?.data ?? []).map(({ name }) => name)}
        value={form.embeddingModel || null}
        onChange={(chosen) => onChange({ embeddingModel: chosen ?? "" })}
        error={fieldProblem(error, "semantic.embeddingModel")}
        searchable
        required
      />
      <TextInput
        label="Similarity threshold"
        description="Above 0 and at most 1; 0.9 unless set"
        inputMode="decimal"
        value={form.threshold}
        onChange={(event) => onChange({ threshold: event.currentTarget.value })}
        error={fieldProblem(error, "semantic.threshold")}
      />
      <Text size="xs" c="dimmed">
        Similar is not equal: begin with a high threshold, and look at the similarities of your own hits.
      </Text>
    </>
  );
}

type Form = ReturnType<typeof formOf>;

function formOf({ source, enabled, type, ttlSeconds, byDefault, semantic, environment }: Configured) {
  return {
    // Who opens the form before anything is set wants a cache.
    enabled: enabled || environment !== null || source === "default",
    type: type ?? "",
    ttl: ttlSeconds === null ? "" : String(ttlSeconds),
    byDefault: byDefault ?? true,
    mode: semantic.mode as string,
    threshold: semantic.threshold === null ? "" : String(semantic.threshold),
    embeddingModel: semantic.embeddingModel ?? "",
  };
}

function bodyOf({ enabled, type, ttl, byDefault, mode, threshold, embeddingModel }: Form) {
  return {
    enabled,
    type: type || null,
    ttlSeconds: numberOf(ttl),
    byDefault,
    semantic: { mode, threshold: numberOf(threshold), embeddingModel: embeddingModel || null },
  };
}

/** A text that is no number is sent as it is, so that the API says what is wrong with it. */
function numberOf(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isNaN(Number(trimmed)) ? trimmed : Number(trimmed);
}
