import { Group, NumberInput, Select, SimpleGrid, TagsInput, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "../api/queries.ts";
import { nanoNumber, readUsd } from "../format/money.ts";

/** What keys and teams can be limited by, as typed. */
export interface LimitValues {
  models: string[];
  rpm: number | string;
  tpm: number | string;
  maxParallelRequests: number | string;
  budgetUsd: string;
  budgetPeriod: string;
}

interface LimitRecord {
  models: string[] | null;
  rpm: number | null;
  tpm: number | null;
  maxParallelRequests: number | null;
  maxBudgetUsd: string | null;
  budgetPeriod: string | null;
}

export function limitValues(record: LimitRecord | undefined): LimitValues {
  return {
    models: record?.models ?? [],
    rpm: record?.rpm ?? "",
    tpm: record?.tpm ?? "",
    maxParallelRequests: record?.maxParallelRequests ?? "",
    budgetUsd: record?.maxBudgetUsd ?? "",
    budgetPeriod: record?.budgetPeriod ?? "none",
  };
}

/** As the API takes them: an empty field takes the limit away. */
export function limitBody(values: LimitValues) {
  const budget = readUsd(values.budgetUsd);
  return {
    models: values.models.length === 0 ? null : values.models,
    rpm: countOf(values.rpm),
    tpm: countOf(values.tpm),
    maxParallelRequests: countOf(values.maxParallelRequests),
    maxBudget: budget === undefined ? null : nanoNumber(budget),
    ...(budget === undefined ? {} : { budgetPeriod: values.budgetPeriod }),
  };
}

export const budgetProblem = (text: string): string | null =>
  text === "" || readUsd(text) !== undefined ? null : "An amount in USD such as 25 or 2.50.";

export function LimitFields({ form }: { form: UseFormReturnType<LimitValues & Record<string, unknown>> }) {
  const { data: models } = useQuery(modelsQuery());
  const names = [...new Set(models?.data.map(({ name }) => name))];
  return (
    <>
      <TagsInput
        label="Models"
        description="Empty means every model of the team."
        placeholder={form.getValues().models.length === 0 ? "every model" : ""}
        data={names}
        key={form.key("models")}
        {...form.getInputProps("models")}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput
          label="Calls per minute"
          placeholder="no limit"
          min={1}
          allowDecimal={false}
          key={form.key("rpm")}
          {...form.getInputProps("rpm")}
        />
        <NumberInput
          label="Tokens per minute"
          placeholder="no limit"
          min={1}
          allowDecimal={false}
          key={form.key("tpm")}
          {...form.getInputProps("tpm")}
        />
        <NumberInput
          label="Calls at once"
          placeholder="no limit"
          min={1}
          allowDecimal={false}
          key={form.key("maxParallelRequests")}
          {...form.getInputProps("maxParallelRequests")}
        />
      </SimpleGrid>
      <Group grow align="flex-start">
        <TextInput
          label="Budget in USD"
          placeholder="no budget"
          inputMode="decimal"
          leftSection="$"
          key={form.key("budgetUsd")}
          {...form.getInputProps("budgetUsd")}
        />
        <Select
          label="Starts again"
          data={[
            { value: "none", label: "never" },
            { value: "daily", label: "every day" },
            { value: "weekly", label: "every week" },
            { value: "monthly", label: "every month" },
          ]}
          allowDeselect={false}
          key={form.key("budgetPeriod")}
          {...form.getInputProps("budgetPeriod")}
        />
      </Group>
    </>
  );
}

function countOf(value: number | string): number | null {
  return value === "" ? null : Number(value);
}
