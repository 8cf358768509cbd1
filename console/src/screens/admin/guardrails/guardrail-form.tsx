import { Divider, Modal, Select, Stack, Switch, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Guardrails } from "../../../api/gateway.ts";
import { Failure } from "../../../components/failure.tsx";
import { fieldProblem } from "../../../components/field-problem.ts";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { useAdminChange } from "../use-admin-change.ts";
import { type Draft, draftOf, type GuardrailKind, settingsOf } from "./draft.ts";
import { SettingField } from "./setting-field.tsx";
import { STAGES } from "./stages.ts";
import { TryOut } from "./try-out.tsx";

type Guardrail = Guardrails["data"][number];

interface GuardrailFormProps {
  /** Absent: a new one. */
  guardrail: Guardrail | undefined;
  kinds: readonly GuardrailKind[];
  onClose: () => void;
}

/** Adds or changes a guardrail. Its fields are those that the API lists for its kind. */
export function GuardrailForm({ guardrail, kinds, onClose }: GuardrailFormProps) {
  const [name, setName] = useState(guardrail?.name ?? "");
  const [kind, setKind] = useState(() => kinds.find((known) => known.kind === guardrail?.kind) ?? kinds[0]);
  const [stage, setStage] = useState<Guardrail["stage"]>(guardrail?.stage ?? "pre");
  const [byDefault, setByDefault] = useState(guardrail?.byDefault ?? false);
  const [draft, setDraft] = useState<Draft>(() => (kind ? draftOf(kind, guardrail?.settings ?? {}) : {}));
  const [isSent, setSent] = useState(false);
  const { mutate, error, isPending } = useAdminChange(onClose);
  if (!kind) return null;
  const { settings, problems } = settingsOf(kind, draft);
  const save = () => {
    setSent(true);
    if (Object.keys(problems).length > 0) return;
    const fields = { stage: kind.stage ?? stage, byDefault, settings };
    if (guardrail)
      mutate({ method: "PATCH", path: `guardrails/${encodeURIComponent(guardrail.name)}`, body: fields, done: `${name} saved.` });
    else mutate({ method: "POST", path: "guardrails", body: { name: name.trim(), kind: kind.kind, ...fields }, done: `${name} added.` });
  };
  return (
    <Modal opened onClose={onClose} title={guardrail ? `Edit ${guardrail.name}` : "Add guardrail"} centered size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Stack gap="sm">
          <Failure error={error} />
          {!guardrail && (
            <TextInput
              label="Name"
              description="Keys, teams and requests select it by this name"
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fieldProblem(error, "name")}
              data-autofocus
            />
          )}
          <Select
            label="Kind"
            description={kind.about}
            data={kinds.map((known) => known.kind)}
            value={kind.kind}
            onChange={(chosen) => {
              const next = kinds.find((known) => known.kind === chosen);
              if (!next) return;
              setKind(next);
              setDraft(draftOf(next, {}));
              setSent(false);
            }}
            disabled={guardrail !== undefined}
            allowDeselect={false}
          />
          {kind.stage === null && (
            <Select
              label="Checks"
              data={Object.entries(STAGES).map(([value, label]) => ({ value, label }))}
              value={stage}
              onChange={(chosen) => setStage((chosen ?? "pre") as Guardrail["stage"])}
              allowDeselect={false}
            />
          )}
          <Switch
            label="Apply to all calls"
            description="Otherwise to calls of keys, teams and requests that name it"
            checked={byDefault}
            onChange={(event) => setByDefault(event.currentTarget.checked)}
          />
          {kind.settings.map((setting) => (
            <SettingField
              key={`${kind.kind}/${setting.name}`}
              setting={setting}
              value={draft[setting.name]}
              error={(isSent ? problems[setting.name] : undefined) ?? fieldProblem(error, `settings.${setting.name}`)}
              onChange={(value) => setDraft({ ...draft, [setting.name]: value })}
            />
          ))}
          <Divider />
          <TryOut guardrail={{ kind: kind.kind, settings }} />
          <FormButtons action="Save" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
