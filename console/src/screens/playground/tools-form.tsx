import { ActionIcon, Button, Fieldset, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { EMPTY_TOOL, readObject, type ToolForm, toolNameProblem } from "./chat-request.ts";

const TOOLS_MAX = 16;
export const monospace = { input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12 } };

/** Functions that the model may call, one form each. */
export function ToolsForm({ tools, onTools }: { tools: readonly ToolForm[]; onTools: (tools: readonly ToolForm[]) => void }) {
  const change = (at: number, part: Partial<ToolForm>) => onTools(tools.map((tool, index) => (index === at ? { ...tool, ...part } : tool)));
  return (
    <Stack gap="xs">
      {tools.map((tool, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a tool has no identity beside its place
        <Fieldset key={index} legend={`Tool ${index + 1}`} p="xs">
          <Group wrap="nowrap" align="flex-start" gap="xs">
            <TextInput
              flex={1}
              size="xs"
              label="Name"
              value={tool.name}
              onChange={(event) => change(index, { name: event.currentTarget.value })}
              error={tool.name === "" ? undefined : toolNameProblem(tool.name)}
            />
            <ActionIcon
              mt={22}
              variant="subtle"
              color="gray"
              aria-label={`Remove tool ${index + 1}`}
              onClick={() => onTools(tools.filter((_tool, at) => at !== index))}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
          <TextInput
            size="xs"
            label="Description"
            value={tool.description}
            onChange={(event) => change(index, { description: event.currentTarget.value })}
          />
          <Textarea
            size="xs"
            label="Parameters (JSON schema)"
            autosize
            maxRows={8}
            styles={monospace}
            value={tool.parameters}
            onChange={(event) => change(index, { parameters: event.currentTarget.value })}
            error={readObject(tool.parameters).problem}
          />
        </Fieldset>
      ))}
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<IconPlus size={14} aria-hidden />}
        disabled={tools.length >= TOOLS_MAX}
        onClick={() => onTools([...tools, EMPTY_TOOL])}
      >
        Add tool
      </Button>
    </Stack>
  );
}
