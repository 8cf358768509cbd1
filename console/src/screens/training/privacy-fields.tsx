import { Checkbox, Fieldset, NumberInput, Select, SimpleGrid, Stack, Text } from "@mantine/core";
import type { Strategy } from "../../api/types.ts";
import { count } from "../../format/text.ts";
import { type FederationForm, type FieldsProps, privacyOf } from "./federation-form.ts";

const MODES = [
  { value: "none", label: "No noise" },
  { value: "central", label: "Central: the coordinator adds noise to the sum" },
  { value: "local", label: "Local: each participant adds noise to its update" },
];

/** Differential privacy with the epsilon that the rounds will cost, before anything is spent. */
export function PrivacyFields({ form, set, strategy }: FieldsProps & { strategy: Strategy | undefined }) {
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
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              {number("Clip norm", "clipNorm", "Largest norm of an update")}
              {number("Noise multiplier", "noiseMultiplier", "Noise per clip norm")}
              {number("Delta", "delta", "Below 1 / number of people")}
            </SimpleGrid>
            <NumberInput
              label="Epsilon budget"
              description="The federation ends before the round that would spend more"
              placeholder="No limit"
              min={0}
              step={1}
              value={form.epsilonBudget ?? ""}
              onChange={(value) => set({ epsilonBudget: Number(value) > 0 ? Number(value) : undefined })}
            />
            {form.privacy === "central" && (
              <Text size="sm" c="dimmed">
                Round 1 starts from an untrained model: that of a built-in task, or what a participant's initial function gives.
              </Text>
            )}
            <Text size="sm" role="status">
              {epsilonText(form, strategy)}
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

function epsilonText(form: FederationForm, strategy: Strategy | undefined): string {
  const privacy = privacyOf(form, strategy);
  if (privacy === undefined) return "Enter a noise multiplier above 0 and a delta between 0 and 1.";
  const { epsilon, isSampled, roundsInBudget } = privacy;
  const cost = `${count(form.rounds, "round")} will cost epsilon ${epsilon.toFixed(2)} at delta ${form.delta}${isSampled ? ", sampling counted" : ""}.`;
  if (roundsInBudget === form.rounds) return cost;
  return `${cost} The budget of ${form.epsilonBudget} allows ${roundsInBudget === 0 ? "no round" : count(roundsInBudget, "round")}.`;
}
