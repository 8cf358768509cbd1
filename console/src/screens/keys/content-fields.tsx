import { NumberInput, Select } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { type ContentValues, INHERITED } from "./content-values.ts";

const DAYS_MAX = 90;
const CHOICES = [
  { value: INHERITED, label: "As the organization" },
  { value: "true", label: "Stored" },
  { value: "false", label: "Not stored" },
];

export function ContentFields({ form }: { form: UseFormReturnType<ContentValues & Record<string, unknown>> }) {
  return (
    <>
      <Select
        label="Prompts and answers"
        description="Stored encrypted, with personal data redacted, and shown in the logs."
        data={CHOICES}
        allowDeselect={false}
        {...form.getInputProps("logContent")}
      />
      {form.values.logContent === "true" && (
        <NumberInput
          label="Retention in days"
          description="Leave empty for the organization's days."
          min={1}
          max={DAYS_MAX}
          allowDecimal={false}
          clampBehavior="strict"
          {...form.getInputProps("logContentDays")}
        />
      )}
    </>
  );
}
