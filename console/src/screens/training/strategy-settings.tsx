import { NumberInput, Select, SimpleGrid } from "@mantine/core";
import type { Strategy } from "../../api/types.ts";
import { ownSettings } from "./federation-form.ts";

type Values = Readonly<Record<string, number | string>>;

/** A field for each setting that the registry has of the strategy; an empty field means its default. */
export function StrategySettings({
  strategy,
  values,
  onValues,
}: {
  strategy: Strategy | undefined;
  values: Values;
  onValues: (values: Values) => void;
}) {
  const settings = ownSettings(strategy);
  if (settings.length === 0) return null;
  const change = (name: string, value: number | string | null) => {
    const { [name]: _before, ...others } = values;
    onValues(value === null || value === "" ? others : { ...others, [name]: value });
  };
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {settings.map(({ name, description, type, of = [], default: fallback, required, min, max, whole }) =>
        type === "choice" ? (
          <Select
            key={name}
            label={name}
            description={description}
            data={[...of]}
            value={String(values[name] ?? fallback ?? "")}
            onChange={(value) => change(name, value)}
            allowDeselect={false}
          />
        ) : (
          <NumberInput
            key={name}
            label={name}
            description={description}
            placeholder={fallback === undefined ? "" : String(fallback)}
            required={required}
            {...(min === undefined ? {} : { min })}
            {...(max === undefined ? {} : { max })}
            allowDecimal={whole !== true}
            value={values[name] ?? ""}
            onChange={(value) => change(name, value === "" ? null : Number(value))}
          />
        ),
      )}
    </SimpleGrid>
  );
}
