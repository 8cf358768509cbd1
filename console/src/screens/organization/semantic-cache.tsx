import { Autocomplete, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { modelsQuery } from "../../api/queries.ts";
import type { Organization } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { SaveButton } from "./save-button.tsx";
import { type SemanticValues, semanticSetting, semanticValues, sourceText, thresholdProblem } from "./semantic-values.ts";

const MODES = [
  { value: "operator", label: "As the operator decided" },
  { value: "on", label: "On" },
  { value: "off", label: "Off" },
];

/** Whether calls of the organization may be answered with the cached answer to a similar text. */
export function SemanticCache({ organization }: { organization: Organization }) {
  const queryClient = useQueryClient();
  const { data: models } = useQuery(modelsQuery());
  const form = useForm<SemanticValues>({
    initialValues: semanticValues(organization.semanticCache),
    validate: { threshold: thresholdProblem },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: SemanticValues) =>
      call("PUT", "/api/gw/organizations", { body: { id: organization.id, semanticCache: semanticSetting(values) } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      notifyDone("Saved. It applies to calls within a second.");
    },
  });
  const isReader = organization.role === "member";
  const isOpen = !isReader && form.values.mode === "on";
  const embedding = (models?.data ?? []).filter(({ type }) => type === "embedding").map(({ name }) => name);
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        <Failure error={error} />
        <Text size="sm" c="dimmed">
          {sourceText(organization.semanticCache)}
        </Text>
        <Select
          label="Similar texts"
          description="Each compared text costs one embedding; a hit costs nothing else. Works where the operator offers it."
          data={MODES}
          allowDeselect={false}
          disabled={isReader}
          {...form.getInputProps("mode")}
        />
        <NumberInput
          label="Least similarity"
          description="Above 0, at most 1. Empty: the operator's"
          step={0.01}
          decimalScale={4}
          disabled={!isOpen}
          {...form.getInputProps("threshold")}
        />
        <Autocomplete
          label="Embedding model"
          description="Empty: the operator's"
          data={[...new Set(embedding)]}
          maxLength={200}
          disabled={!isOpen}
          {...form.getInputProps("embeddingModel")}
        />
        <SaveButton isReader={isReader} isPending={isPending} />
      </Stack>
    </form>
  );
}
