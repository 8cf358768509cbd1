import { Checkbox, Fieldset, Group, MultiSelect, NumberInput, Stack, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { nodesQuery } from "../../api/training.ts";
import type { FieldsProps } from "./federation-form.ts";

/** Who takes part: known nodes, other addresses, places with a join token, or everyone with the join link. */
export function ParticipantFields({ form, set }: FieldsProps) {
  const { data: nodes } = useQuery(nodesQuery);
  const known = [
    ...new Map((nodes?.data ?? []).map(({ url, name, status }) => [url, { value: url, label: `${name || url} (${status})` }])).values(),
  ];
  return (
    <Fieldset legend="Participants">
      <Stack gap="sm">
        <MultiSelect
          label="Known nodes"
          placeholder={known.length === 0 ? "No nodes yet" : "Choose nodes"}
          data={known}
          value={[...form.chosenNodes]}
          onChange={(chosenNodes) => set({ chosenNodes })}
          searchable
        />
        <Textarea
          label="Other trainer nodes"
          description="One URL per line"
          placeholder="http://10.0.0.5:5000"
          autosize
          minRows={1}
          value={form.nodes}
          onChange={(event) => set({ nodes: event.currentTarget.value })}
        />
        <Group grow align="flex-start">
          <NumberInput
            label="Join tokens"
            description="For participants that cannot be reached by URL"
            min={0}
            max={100}
            value={form.places}
            onChange={(value) => set({ places: Number(value) || 0 })}
          />
          <NumberInput
            label="Most samples"
            description="A participant that declares more is refused"
            placeholder="No own limit"
            min={1}
            allowDecimal={false}
            value={form.samplesMax ?? ""}
            onChange={(value) => set({ samplesMax: Number(value) >= 1 ? Number(value) : undefined })}
          />
          <TextInput
            label="Reward per round (USD)"
            description="Shared by the participants"
            placeholder="0"
            value={form.budget}
            onChange={(event) => set({ budget: event.currentTarget.value })}
          />
        </Group>
        <Checkbox
          label="Open enrollment: everyone with the join link takes part"
          checked={form.isOpen}
          onChange={(event) => set({ isOpen: event.currentTarget.checked })}
        />
      </Stack>
    </Fieldset>
  );
}
