import { TextInput } from "@mantine/core";

/** A code of the authenticator app. */
export function CodeInput({ value, onChange }: { value: string; onChange: (code: string) => void }) {
  return (
    <TextInput
      label="Code"
      placeholder="123456"
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={7}
      required
      data-autofocus
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
