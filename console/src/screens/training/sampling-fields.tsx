import { Fieldset, NumberInput, SimpleGrid } from "@mantine/core";
import type { FieldsProps } from "./federation-form.ts";

/** How many of the participants a round asks. */
export function SamplingFields({ form, set }: FieldsProps) {
  const limit = (label: string, at: "clientsMin" | "clientsMax", description: string) => (
    <NumberInput
      label={label}
      description={description}
      placeholder="No limit"
      min={1}
      max={10_000}
      allowDecimal={false}
      value={form[at] ?? ""}
      onChange={(value) => set({ [at]: Number(value) >= 1 ? Number(value) : undefined })}
    />
  );
  return (
    <Fieldset legend="Participants of a round">
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput
          label="Share of participants (%)"
          description="Chosen anew for each round"
          min={0.01}
          max={100}
          value={form.sharePercent}
          onChange={(value) => set({ sharePercent: Number(value) > 0 ? Math.min(100, Number(value)) : 100 })}
        />
        {limit("At least", "clientsMin", "A round waits until there are so many")}
        {limit("At most", "clientsMax", "A round asks no more")}
      </SimpleGrid>
    </Fieldset>
  );
}
