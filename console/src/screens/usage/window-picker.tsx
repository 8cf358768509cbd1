import { Group, SegmentedControl, Select, TextInput } from "@mantine/core";
import { bucketKey, RANGES, type RangeName } from "../../components/time-range.ts";
import { isDay } from "../../components/usage-window.ts";

const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

interface WindowPickerProps {
  range: RangeName;
  from: string | undefined;
  to: string | undefined;
  timeZone: string;
  onChange: (change: Record<string, string | undefined>) => void;
}

/** Selects a named range or two dates, and their time zone. */
export function WindowPicker({ range, from, to, timeZone, onChange }: WindowPickerProps) {
  const isChosen = from !== undefined && to !== undefined;
  const dayOf = (time: string | undefined) => (time === undefined ? "" : isDay(time) ? time : bucketKey("day", Date.parse(time), timeZone));
  const day = (name: "from" | "to", value: string) => {
    if (!isDay(value)) return;
    const [first, last] = name === "from" ? [value, dayOf(to) || value] : [dayOf(from) || value, value];
    onChange({ from: first < last ? first : last, to: first < last ? last : first });
  };
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        aria-label="Time range"
        value={isChosen ? "" : range}
        onChange={(value) => onChange({ range: value, from: undefined, to: undefined })}
        data={Object.entries(RANGES).map(([value, { label }]) => ({ value, label }))}
      />
      <TextInput type="date" label="From" value={dayOf(from)} onChange={(event) => day("from", event.currentTarget.value)} w={150} />
      <TextInput type="date" label="To" value={dayOf(to)} onChange={(event) => day("to", event.currentTarget.value)} w={150} />
      <Select
        label="Time zone"
        data={ZONES.includes(timeZone) ? ZONES : [timeZone, ...ZONES]}
        value={timeZone}
        onChange={(zone) => onChange({ tz: zone ?? undefined })}
        searchable
        limit={30}
        allowDeselect={false}
        w={200}
      />
    </Group>
  );
}
