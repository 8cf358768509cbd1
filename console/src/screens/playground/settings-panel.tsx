import { MultiSelect, NumberInput, PasswordInput, Select, Stack, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { teamsQuery } from "../../api/queries.ts";
import { type ChatSettings, readObject } from "./chat-request.ts";
import { monospace, ToolsForm } from "./tools-form.tsx";

export interface Choices {
  readonly models: readonly string[];
  readonly team: string | undefined;
  readonly secret: string;
  readonly settings: ChatSettings;
}

export interface SettingsPanelProps extends Choices {
  known: readonly string[];
  onModels: (models: string[]) => void;
  onTeam: (team: string) => void;
  onSecret: (secret: string) => void;
  onSettings: (settings: ChatSettings) => void;
}

const MODELS_MAX = 4;
const asNumber = (value: string | number) => (value === "" ? undefined : Number(value));

export function SettingsPanel({ models, team, secret, settings, known, onModels, onTeam, onSecret, onSettings }: SettingsPanelProps) {
  const { data: teams } = useQuery(teamsQuery());
  const set = (change: Partial<ChatSettings>) => onSettings({ ...settings, ...change });
  return (
    <Stack gap="sm">
      <MultiSelect
        label="Models"
        data={[...new Set([...known, ...models])]}
        value={[...models]}
        onChange={onModels}
        maxValues={MODELS_MAX}
        searchable
        placeholder={models.length === 0 ? "Select up to 4 models" : ""}
      />
      <Select
        label="Billed to team"
        description="Uses a key that expires in 1 hour"
        data={(teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        value={team ?? null}
        onChange={(value) => value && onTeam(value)}
        disabled={secret !== ""}
        allowDeselect={false}
      />
      <PasswordInput
        label="Or use your own API key"
        description="Stays in this browser tab"
        placeholder="sk-…"
        value={secret}
        onChange={(event) => onSecret(event.currentTarget.value.trim())}
        autoComplete="off"
        visibilityToggleButtonProps={{ "aria-label": "Show API key" }}
      />
      <Textarea
        label="System prompt"
        autosize
        maxRows={6}
        value={settings.system}
        onChange={(event) => set({ system: event.currentTarget.value })}
      />
      <NumberInput
        label="Temperature"
        description="Default: set by the model"
        min={0}
        max={2}
        step={0.1}
        value={settings.temperature ?? ""}
        onChange={(value) => set({ temperature: asNumber(value) })}
      />
      <NumberInput
        label="max_tokens"
        description="Maximum output tokens"
        min={1}
        value={settings.maxTokens ?? ""}
        onChange={(value) => set({ maxTokens: asNumber(value) })}
      />
      <ToolsForm tools={settings.tools} onTools={(tools) => set({ tools })} />
      <Textarea
        label="Answer as JSON (schema)"
        description="Sent as response_format"
        placeholder={'{"type": "object", "properties": {…}}'}
        autosize
        maxRows={10}
        styles={monospace}
        value={settings.schema}
        onChange={(event) => set({ schema: event.currentTarget.value })}
        error={readObject(settings.schema).problem}
      />
      <Textarea
        label="Additional parameters (JSON)"
        placeholder={'{"seed": 7}'}
        autosize
        maxRows={10}
        styles={monospace}
        value={settings.more}
        onChange={(event) => set({ more: event.currentTarget.value })}
        error={readObject(settings.more).problem}
      />
    </Stack>
  );
}
