import { Checkbox, Fieldset, Group, NumberInput, Select, Stack, Text } from "@mantine/core";
import { count } from "../../format/text.ts";
import { epsilonOf, type FederationForm, type FieldsProps } from "./federation-form.ts";

const MODES = [
  { value: "none", label: "No noise" },
  { value: "central", label: "Central: the coordinator adds noise to the sum" },
  { value: "local", label: "Local: each participant adds noise to its update" },
];

/** Differential privacy with the epsilon that the rounds will cost, before anything is spent. */
export function PrivacyFields({ form, set }: FieldsProps) {
  const number = (label: string, at: "clipNorm" | "noiseMultiplier" | "delta", description: string) => (
    <NumberInput
      label={label}
      description={description}
      min={0}
      step={at === "delta" ? 1e-6 : 0.1}
      decimalScale={12}
      value={form[at]}
      onChange={(value) => set({ [at]: Number(value) })}
    />
  );
  return (
    <Fieldset legend="Privacy">
      <Stack gap="sm">
        <Select
          label="Differential privacy"
          data={MODES}
          value={form.privacy}
          onChange={(privacy) => set({ privacy: (privacy ?? "none") as FederationForm["privacy"] })}
          allowDeselect={false}
        />
        {form.privacy !== "none" && (
          <>
            <Group grow align="flex-start">
              {number("Clip norm", "clipNorm", "Largest norm of an update")}
              {number("Noise multiplier", "noiseMultiplier", "Noise per clip norm")}
              {number("Delta", "delta", "Below 1 / number of people")}
            </Group>
            <Text size="sm" role="status">
              {epsilonText(form)}
            </Text>
          </>
        )}
        <Checkbox
          label="Secure aggregation: the coordinator sees only the sum of the updates"
          checked={form.isSecure}
          onChange={(event) => set({ isSecure: event.currentTarget.checked })}
        />
      </Stack>
    </Fieldset>
  );
}

function epsilonText(form: FederationForm): string {
  const epsilon = epsilonOf(form);
  if (epsilon === undefined) return "Enter a noise multiplier above 0 and a delta between 0 and 1.";
  return `${count(form.rounds, "round")} will cost epsilon ${epsilon.toFixed(2)} at delta ${form.delta}.`;
}
