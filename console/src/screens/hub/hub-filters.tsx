import { Group, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import type { Model } from "../../api/types.ts";
import type { HubFilter } from "./hub-filter.ts";

interface HubFiltersProps {
  models: readonly Model[];
  filter: HubFilter;
  onChange: (change: Record<string, string | undefined>) => void;
}

const PRICES = [
  { value: "0", label: "Free" },
  { value: "0.5", label: "Up to $0.50 / 1M" },
  { value: "2", label: "Up to $2.00 / 1M" },
  { value: "10", label: "Up to $10.00 / 1M" },
];
const CONTEXTS = [
  { value: "8000", label: "8K tokens or more" },
  { value: "32000", label: "32K tokens or more" },
  { value: "128000", label: "128K tokens or more" },
  { value: "1000000", label: "1M tokens or more" },
];

export function HubFilters({ models, filter, onChange }: HubFiltersProps) {
  const types = unique(models.map(({ type }) => ({ value: type, label: type.replaceAll("_", " ") })));
  const providers = unique(models.map(({ provider }) => ({ value: provider.id, label: provider.name })));
  const capabilities = unique(
    models.flatMap((model) => model.capabilities.map((name) => ({ value: name, label: name.replaceAll("_", " ") }))),
  );
  const chosen = (value: string | number | undefined) => (value === undefined ? null : String(value));
  return (
    <Group gap="xs" mb="sm">
      <TextInput
        aria-label="Search models"
        placeholder="Search models"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={filter.search}
        onChange={(event) => onChange({ search: event.currentTarget.value })}
        w={230}
      />
      <Choice label="Type" data={types} value={chosen(filter.type)} onChange={(type) => onChange({ type })} />
      <Choice label="Provider" data={providers} value={chosen(filter.provider)} onChange={(provider) => onChange({ provider })} />
      <Choice
        label="Capability"
        data={[{ value: "trained", label: "trained here" }, ...capabilities]}
        value={chosen(filter.capability)}
        onChange={(capability) => onChange({ capability })}
      />
      <Choice label="Price" data={PRICES} value={chosen(filter.priceMax)} onChange={(price) => onChange({ price })} />
      <Choice label="Context" data={CONTEXTS} value={chosen(filter.contextMin)} onChange={(context) => onChange({ context })} />
    </Group>
  );
}

interface Option {
  value: string;
  label: string;
}

function Choice({
  label,
  data,
  value,
  onChange,
}: {
  label: string;
  data: Option[];
  value: string | null;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <Select
      aria-label={label}
      placeholder={`Any ${label.toLowerCase()}`}
      data={data}
      value={value}
      onChange={(next) => onChange(next ?? undefined)}
      clearable
      clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
      w={150}
    />
  );
}

function unique(options: readonly Option[]): Option[] {
  return [...new Map(options.map((option) => [option.value, option])).values()].sort((left, right) =>
    left.label.localeCompare(right.label),
  );
}
