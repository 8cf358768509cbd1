import { Group, NumberInput, Select, SimpleGrid, TagsInput, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "../api/queries.ts";
import { nanoNumber, readUsd } from "../format/money.ts";

/** Form values of the limits of keys and teams. */
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

/** The limits as a request body: an empty field removes the limit. */
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
  text === "" || readUsd(text) !== undefined ? null : "Enter an amount in USD, such as 25 or 2.50.";

export function LimitFields({ form }: { form: UseFormReturnType<LimitValues & Record<string, unknown>> }) {
  const { data: models } = useQuery(modelsQuery());
  const names = [...new Set(models?.data.map(({ name }) => name))];
  return (
    <>
      <TagsInput
        label="Allowed models"
        description="Leave empty to allow all models of the team."
        placeholder={form.getValues().models.length === 0 ? "All models" : ""}
        data={names}
        key={form.key("models")}
        {...form.getInputProps("models")}
      />
      <RateFields form={form} />
    </>
  );
}

/** Rate limits and budget, which organizations have too. */
export function RateFields({ form }: { form: UseFormReturnType<LimitValues & Record<string, unknown>> }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput
          label="Requests per minute (RPM)"
          placeholder="No limit"
          min={1}
          allowDecimal={false}
          key={form.key("rpm")}
          {...form.getInputProps("rpm")}
        />
        <NumberInput
          label="Tokens per minute (TPM)"
          placeholder="No limit"
          min={1}
          allowDecimal={false}
          key={form.key("tpm")}
          {...form.getInputProps("tpm")}
        />
        <NumberInput
          label="Max parallel requests"
          placeholder="No limit"
          min={1}
          allowDecimal={false}
          key={form.key("maxParallelRequests")}
          {...form.getInputProps("maxParallelRequests")}
        />
      </SimpleGrid>
      <Group grow align="flex-start">
        <TextInput
          label="Budget (USD)"
          placeholder="No budget"
          inputMode="decimal"
          leftSection="$"
          key={form.key("budgetUsd")}
          {...form.getInputProps("budgetUsd")}
        />
        <Select
          label="Budget reset"
          data={[
            { value: "none", label: "Never" },
            { value: "daily", label: "Daily" },
            { value: "weekly", label: "Weekly" },
            { value: "monthly", label: "Monthly" },
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
