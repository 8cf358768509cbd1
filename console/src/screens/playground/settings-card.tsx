import { Group, MultiSelect, NumberInput, PasswordInput, Select, Stack, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { teamsQuery } from "../../api/queries.ts";
import { Card } from "../../components/card.tsx";
import { type ChatSettings, readMore } from "./chat-request.ts";

export interface Choices {
  readonly models: readonly string[];
  readonly team: string | undefined;
  readonly secret: string;
  readonly settings: ChatSettings;
}

interface SettingsCardProps extends Choices {
  known: readonly string[];
  onModels: (models: string[]) => void;
  onTeam: (team: string) => void;
  onSecret: (secret: string) => void;
  onSettings: (settings: ChatSettings) => void;
}

const MODELS_MAX = 4;
const asNumber = (value: string | number) => (value === "" ? undefined : Number(value));

export function SettingsCard({ models, team, secret, settings, known, onModels, onTeam, onSecret, onSettings }: SettingsCardProps) {
  const { data: teams } = useQuery(teamsQuery());
  const set = (change: Partial<ChatSettings>) => onSettings({ ...settings, ...change });
  return (
    <Card>
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
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <Select
            label="Billed to team"
            description="Uses a key that expires in 1 hour"
            data={(teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            value={team ?? null}
            onChange={(value) => value && onTeam(value)}
            disabled={secret !== ""}
            allowDeselect={false}
            miw={180}
          />
          <PasswordInput
            label="Or use your own API key"
            description="Stays in this browser tab"
            placeholder="sk-…"
            value={secret}
            onChange={(event) => onSecret(event.currentTarget.value.trim())}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show API key" }}
            miw={180}
          />
          <NumberInput
            label="Temperature"
            description="Default: set by the model"
            min={0}
            max={2}
            step={0.1}
            value={settings.temperature ?? ""}
            onChange={(value) => set({ temperature: asNumber(value) })}
            miw={130}
          />
          <NumberInput
            label="max_tokens"
            description="Maximum output tokens"
            min={1}
            value={settings.maxTokens ?? ""}
            onChange={(value) => set({ maxTokens: asNumber(value) })}
            miw={130}
          />
        </Group>
        <Group grow align="flex-start" preventGrowOverflow={false}>
          <Textarea
            label="System prompt"
            autosize
            maxRows={6}
            value={settings.system}
            onChange={(event) => set({ system: event.currentTarget.value })}
            miw={220}
          />
          <Textarea
            label="Additional parameters (JSON)"
            placeholder={'{"tools": […], "response_format": {…}}'}
            autosize
            maxRows={10}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
            value={settings.more}
            onChange={(event) => set({ more: event.currentTarget.value })}
            error={readMore(settings.more).problem}
            miw={220}
          />
        </Group>
      </Stack>
    </Card>
  );
}
