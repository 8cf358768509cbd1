import { Select } from "@mantine/core";
import { useAddress } from "../../../components/use-address.ts";

/** The metric in the address, or the first that there is. */
export function useMetric(names: readonly string[]): string | undefined {
  const [address] = useAddress();
  return names.find((name) => name === address.metric) ?? names[0];
}

export function MetricPicker({ names, metric }: { names: readonly string[]; metric: string | undefined }) {
  const [, setAddress] = useAddress();
  return (
    <Select
      label="Metric"
      data={[...names]}
      value={metric ?? null}
      onChange={(next) => setAddress({ metric: next ?? undefined })}
      allowDeselect={false}
      searchable
      disabled={names.length === 0}
      w={{ base: "100%", sm: 220 }}
    />
  );
}
