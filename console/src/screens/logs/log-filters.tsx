import { Button, Group, Select } from "@mantine/core";
import { IconSearch, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { keysQuery, modelsQuery, teamsQuery, usageQuery } from "../../api/queries.ts";
import { RANGES } from "../../components/time-range.ts";
import { searchOf } from "../../components/use-address.ts";
import { groupTagsOf } from "../session/session-calls.ts";
import { DelayedInput } from "./delayed-input.tsx";
import { LOG_STATES, type LogFilter } from "./log-filter.ts";
import { FILTER_NAMES } from "./saved-views.ts";

type FilterChange = Record<string, string | undefined>;
const NOTHING: FilterChange = Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined]));

export function LogFilters({ filter, onChange }: { filter: LogFilter; onChange: (change: FilterChange) => void }) {
  const { data: models } = useQuery(modelsQuery());
  const { data: keys } = useQuery(keysQuery());
  const { data: teams } = useQuery(teamsQuery());
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const range = filter.from || filter.to ? "exact" : (filter.range ?? null);
  const ranges = Object.entries(RANGES).map(([value, { label }]) => ({ value, label: `Last ${label}` }));
  return (
    <Group gap="xs" mb="sm">
      <DelayedInput
        aria-label="Search calls"
        placeholder="Search calls"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={filter.search}
        delayMs={300}
        onChange={(search) => onChange({ search })}
        w={220}
      />
      <Choice
        label="Time"
        value={range}
        options={range === "exact" ? [...ranges, { value: "exact", label: "Selected in the chart" }] : ranges}
        onChange={(value) => onChange({ range: value, from: undefined, to: undefined, tz: undefined })}
      />
      <Choice
        label="Status"
        value={filter.status ?? null}
        options={LOG_STATES.map((state) => ({ value: state, label: state }))}
        onChange={(status) => onChange({ status })}
      />
      <Choice
        label="Model"
        value={filter.model ?? null}
        options={named(
          filter.model,
          (models?.data ?? []).map(({ name }) => ({ value: name, label: name })),
        )}
        onChange={(model) => onChange({ model })}
      />
      <Choice
        label="Key"
        value={filter.apiKey ?? null}
        options={named(
          filter.apiKey,
          (keys?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
        )}
        onChange={(apiKey) => onChange({ apiKey })}
      />
      <Choice
        label="Team"
        value={filter.team ?? null}
        options={named(
          filter.team,
          (teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
        )}
        onChange={(team) => onChange({ team })}
      />
      <ProviderChoice value={filter.provider} onChange={(provider) => onChange({ provider })} />
      <Exact label="End user" value={filter.endUser} onChange={(endUser) => onChange({ endUser })} />
      <Exact label="Tag" value={filter.tag} onChange={(tag) => onChange({ tag })} />
      {groupTagsOf(filter.tag === undefined ? [] : [filter.tag]).map(({ tag, group }) => (
        <Button key={tag} component={Link} to="/session" search={searchOf({ tag })} variant="default" size="compact-sm">
          Open {group}
        </Button>
      ))}
      {isFiltered && (
        <Button variant="subtle" size="compact-sm" leftSection={<IconX size={14} aria-hidden />} onClick={() => onChange(NOTHING)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** The providers of the last 30 days. */
function ProviderChoice({ value, onChange }: { value: string | undefined; onChange: (value: string | undefined) => void }) {
  const { data } = useQuery(usageQuery({ groupBy: "provider", interval: "all" }));
  const options = (data?.data ?? []).flatMap(({ group }) => (group === null ? [] : [{ value: group, label: group }]));
  return <Choice label="Provider" value={value ?? null} options={named(value, options)} onChange={onChange} />;
}

function Exact({ label, value, onChange }: { label: string; value: string | undefined; onChange: (value: string | undefined) => void }) {
  return (
    <DelayedInput
      aria-label={`${label}, exactly`}
      placeholder={`Any ${label.toLowerCase()}`}
      value={value}
      delayMs={500}
      onChange={onChange}
      w={138}
    />
  );
}

interface Option {
  value: string;
  label: string;
}

interface ChoiceProps {
  label: string;
  value: string | null;
  options: readonly Option[];
  onChange: (value: string | undefined) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      placeholder={`Any ${label.toLowerCase()}`}
      data={[...options]}
      value={value}
      onChange={(next) => onChange(next ?? undefined)}
      clearable
      clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
      searchable={options.length > 8}
      w={138}
    />
  );
}

/** Keeps the selected value as an option even if the list no longer has it, such as a revoked key. Duplicate values are merged. */
function named(value: string | undefined, options: readonly Option[]): Option[] {
  const unique = [...new Map(options.map((option) => [option.value, option])).values()];
  return value === undefined || unique.some((option) => option.value === value) ? unique : [...unique, { value, label: value }];
}
