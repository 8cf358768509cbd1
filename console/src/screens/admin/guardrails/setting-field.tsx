import { MultiSelect, Select, Switch, Textarea, TextInput } from "@mantine/core";
import type { Draft, GuardrailSetting } from "./draft.ts";

interface SettingFieldProps {
  setting: GuardrailSetting;
  value: Draft[string] | undefined;
  error: string | undefined;
  onChange: (value: Draft[string]) => void;
}

/** One setting of a guardrail, as its kind describes it. */
export function SettingField({ setting: { name, type, required, choices, about }, value, error, onChange }: SettingFieldProps) {
  const common = { label: name, description: about, required, error };
  if (type === "flag") {
    return <Switch {...common} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
  }
  if (choices && type === "texts") {
    return <MultiSelect {...common} data={choices} value={Array.isArray(value) ? [...value] : []} onChange={onChange} clearable />;
  }
  if (choices) {
    return (
      <Select
        {...common}
        data={choices}
        value={String(value ?? "") || null}
        onChange={(chosen) => onChange(chosen ?? "")}
        clearable
        clearButtonProps={{ "aria-label": `Clear ${name}` }}
      />
    );
  }
  const text = { ...common, value: String(value ?? "") };
  if (type === "text" || type === "count") {
    return (
      <TextInput
        {...text}
        inputMode={type === "count" ? "numeric" : "text"}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="off"
      />
    );
  }
  return (
    <Textarea
      {...text}
      description={type === "object" ? about : `${about}, one per line`}
      onChange={(event) => onChange(event.currentTarget.value)}
      autosize
      minRows={3}
      maxRows={12}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      spellCheck={false}
    />
  );
}
