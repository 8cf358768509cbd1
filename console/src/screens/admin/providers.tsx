import { Button, Group, Text } from "@mantine/core";
import { IconPlugConnected } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { providersQuery } from "../../api/admin.ts";
import { routingQuery } from "../../api/gateway.ts";
import type { Provider } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { PickModels } from "./pick-models/pick-models.tsx";
import { EditProvider } from "./providers/edit-provider.tsx";
import { NewProvider } from "./providers/new-provider.tsx";
import { ProviderHealth } from "./providers/provider-health.tsx";
import { TestProvider } from "./providers/test-provider.tsx";
import { SOURCE_LABELS } from "./source-labels.ts";
import { useAdminChange } from "./use-admin-change.ts";

export function Providers() {
  const { data, error } = useQuery({ ...providersQuery, refetchInterval: 10_000 });
  const routing = useQuery(routingQuery);
  const deployments = routing.data?.data.flatMap((group) => group.deployments);
  const [leaving, setLeaving] = useState<Provider | undefined>();
  const [edited, setEdited] = useState<Provider | undefined>();
  const [tested, setTested] = useState<Provider | undefined>();
  const [filled, setFilled] = useState<Provider | undefined>();
  const removing = useAdminChange(() => setLeaving(undefined));
  const columns: Column<Provider>[] = [
    {
      title: "Provider",
      cell: ({ name, kind, source }) => (
        <div>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {kind}, {SOURCE_LABELS[source]}
          </Text>
        </div>
      ),
    },
    { title: "Health", cell: ({ id }) => <ProviderHealth deployments={deployments?.filter(({ providerId }) => providerId === id)} /> },
    { title: "Models", cell: ({ modelCount }) => <Text size="sm">{modelCount}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Actions",
      cell: (provider) => (
        <Group gap={4} justify="flex-end">
          {/* A trained model answers rows of its own features, not a text. */}
          {provider.modelCount > 0 && provider.source !== "training" && (
            <Button size="compact-xs" variant="default" onClick={() => setTested(provider)} aria-label={`Test ${provider.name}`}>
              Test
            </Button>
          )}
          {/* Providers from the configuration file or from training cannot be changed here. */}
          {provider.source === "catalog" && (
            <>
              <Button size="compact-xs" variant="light" onClick={() => setFilled(provider)} aria-label={`Add models of ${provider.name}`}>
                Add models
              </Button>
              <Button size="compact-xs" variant="default" onClick={() => setEdited(provider)} aria-label={`Edit ${provider.name}`}>
                Edit
              </Button>
              <Button size="compact-xs" variant="default" onClick={() => setLeaving(provider)} aria-label={`Delete ${provider.name}`}>
                Delete
              </Button>
            </>
          )}
        </Group>
      ),
      isNumber: true,
    },
  ];
  return (
    <>
      <Failure error={error ?? routing.error} />
      <DataTable
        label="Providers"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={<Empty icon={IconPlugConnected} title="No providers yet" />}
      />
      <NewProvider onAdded={setFilled} />
      {filled && <PickModels provider={filled} onClose={() => setFilled(undefined)} />}
      {tested && <TestProvider key={tested.id} provider={tested} onClose={() => setTested(undefined)} />}
      {edited && <EditProvider provider={edited} onClose={() => setEdited(undefined)} />}
      {leaving && (
        <TypedConfirm
          title="Delete provider"
          word={leaving.name}
          action="Delete"
          error={removing.error}
          isBusy={removing.isPending}
          onConfirm={() => removing.mutate({ method: "DELETE", path: `providers/${leaving.id}`, done: `${leaving.name} deleted.` })}
          onClose={() => setLeaving(undefined)}
        >
          Calls to its models will be rejected.
        </TypedConfirm>
      )}
    </>
  );
}
