import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { adminModelsQuery } from "../../../api/admin.ts";
import type { Provider } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { ModelTest } from "../model-test/model-test.tsx";

/** Tests a provider by a call to one of its models; the result names the deployment that answered. */
export function TestProvider({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const { data, error } = useQuery(adminModelsQuery({ provider: provider.id, pageSize: 100 }));
  const [chosen, setChosen] = useState<string>();
  const models = data?.data ?? [];
  const model = models.find(({ id }) => id === chosen) ?? models[0];
  if (error) return <Failure error={error} />;
  if (!model) return null;
  const choice = models.length > 1 && (
    <Select
      label="Model"
      data={models.map(({ id, name }) => ({ value: id, label: name }))}
      value={model.id}
      onChange={(next) => setChosen(next ?? undefined)}
      allowDeselect={false}
      searchable
    />
  );
  return <ModelTest title={`Test ${provider.name}`} model={model} choice={choice} onClose={onClose} />;
}
