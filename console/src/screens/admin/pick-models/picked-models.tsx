import { ActionIcon, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { isAtListPrice, type Pick, problemsOf } from "./picks.ts";

interface Props {
  picks: readonly Pick[];
  onChange: (pick: Pick) => void;
  onRemove: (inferenceModelId: string) => void;
}

/** Names and prices of the ticked models; they start as listed. */
export function PickedModels({ picks, onChange, onRemove }: Props) {
  return (
    <Stack gap="xs" role="group" aria-label="Models to add">
      <Title order={3} size="h6">
        To add
      </Title>
      <Text size="xs" c="dimmed">
        Clients send the name. Prices are in USD per 1M units; prices that are not shown, such as those of cached input, stay as listed.
      </Text>
      {picks.map((pick) => (
        <PickedModel
          key={pick.listed.inferenceModelId}
          pick={pick}
          onChange={onChange}
          onRemove={() => onRemove(pick.listed.inferenceModelId)}
        />
      ))}
    </Stack>
  );
}

function PickedModel({ pick, onChange, onRemove }: { pick: Pick; onChange: Props["onChange"]; onRemove: () => void }) {
  const { inferenceModelId, pricing } = pick.listed;
  const problems = problemsOf(pick);
  const field = (name: "name" | "input" | "output", label: string) => ({
    "aria-label": `${label} of ${inferenceModelId}`,
    size: "xs",
    value: pick[name],
    error: problems[name],
    onChange: (event: { currentTarget: HTMLInputElement }) => onChange({ ...pick, [name]: event.currentTarget.value }),
  });
  return (
    <Group gap="xs" align="flex-start">
      <TextInput {...field("name", "Name")} style={{ flex: "1 1 200px" }} />
      <TextInput {...field("input", "Input price")} leftSection={<Text size="xs">in</Text>} leftSectionWidth={34} w={120} />
      <TextInput {...field("output", "Output price")} leftSection={<Text size="xs">out</Text>} leftSectionWidth={34} w={120} />
      <Text size="xs" c="dimmed" w={84} lh="30px">
        {isAtListPrice(pick) ? "list price" : "own price"}
        {pricing && pricing.unit !== "token" ? `, ${pricing.unit}` : ""}
      </Text>
      <ActionIcon variant="subtle" color="gray" aria-label={`Do not add ${inferenceModelId}`} onClick={onRemove}>
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
