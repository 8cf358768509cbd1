import { CloseButton, Group, Select, Stack, Text } from "@mantine/core";
import { ReorderList } from "../reorder-list.tsx";

interface FallbackListProps {
  label: string;
  /** Names the file that sets the list, which then cannot be changed here. */
  setIn: string | undefined;
  names: readonly string[];
  /** The models that can be added. */
  models: readonly string[];
  error: string | undefined;
  onChange: (names: readonly string[]) => void;
}

/** Models that are tried one after the other. */
export function FallbackList({ label, setIn, names, models, error, onChange }: FallbackListProps) {
  const left = models.filter((model) => !names.includes(model));
  return (
    <Stack gap={4}>
      {names.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            {label}
          </Text>
          <ReorderList label={label} items={names} onMove={onChange}>
            {(name) => (
              <Group gap="xs" wrap="nowrap">
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {name}
                </Text>
                <CloseButton
                  size="sm"
                  aria-label={`Remove ${name} from: ${label}`}
                  onClick={() => onChange(names.filter((other) => other !== name))}
                />
              </Group>
            )}
          </ReorderList>
        </>
      )}
      <Select
        label={names.length > 0 ? undefined : label}
        aria-label={`Add to: ${label}`}
        description={setIn && `Set ${setIn}`}
        placeholder={names.length > 0 ? "Then try another model" : "No fallback"}
        data={left}
        value={null}
        onChange={(name) => name && onChange([...names, name])}
        disabled={setIn !== undefined || left.length === 0}
        error={error}
        searchable
      />
    </Stack>
  );
}
