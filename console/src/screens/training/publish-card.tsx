import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { rollBack, versionsQuery } from "../../api/training.ts";
import type { Federation, TrainedVersion } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { notifyDone, notifyFailure } from "../../components/failure.tsx";
import { searchOf, useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/text.ts";
import { PublishForm } from "./publish-form.tsx";
import { TryModel } from "./try-model.tsx";

/** Publishes a round as a model, lists its versions and rolls back to one. */
export function PublishCard({ federation }: { federation: Federation }) {
  const queryClient = useQueryClient();
  const [address, setAddress] = useAddress();
  const model = address.model === undefined ? undefined : String(address.model);
  // A federation that was never published has no model; the error is expected.
  const versions = useQuery({ ...versionsQuery(federation.id, model), retry: false });
  const served = versions.data?.data.find(({ percent }) => percent > 0);
  const refresh = () => queryClient.invalidateQueries({ queryKey: ["federation", federation.id] });
  const goingBack = useMutation({
    mutationFn: ({ version }: TrainedVersion) =>
      rollBack(federation.id, { model: versions.data?.model.name ?? federation.modelName, version }),
    onSuccess: async (_model, { version }) => {
      notifyDone(`All traffic goes to version ${version}.`);
      await refresh();
    },
    onError: notifyFailure,
  });
  const columns: Column<TrainedVersion>[] = [
    { title: "Version", cell: ({ version }) => <Text size="sm">v{version}</Text> },
    { title: "Round", cell: ({ lineage }) => <Text size="sm">{String(lineage["round"] ?? "–")}</Text>, wideOnly: true },
    { title: "Traffic", cell: ({ percent }) => <Text size="sm">{percent}%</Text>, isNumber: true },
    { title: "Published", cell: ({ createdAt }) => <Text size="sm">{formatTime(createdAt)}</Text>, wideOnly: true },
    {
      title: "Actions",
      cell: (version) => (
        <Button size="compact-xs" variant="default" disabled={version.percent === 100} onClick={() => goingBack.mutate(version)}>
          Serve v{version.version}
        </Button>
      ),
      isNumber: true,
    },
  ];
  return (
    <Card title="Published versions" about="Serve the parameters of a round as a model.">
      <Stack gap="sm">
        <PublishForm
          federation={federation}
          known={versions.data?.model}
          onPublished={async (published) => {
            setAddress({ model: published });
            await refresh();
          }}
        />
        {versions.data && (
          <Group gap="md">
            {versions.data.model.type !== "embedding" && (
              <Anchor component={Link} to="/playground" search={searchOf({ models: versions.data.model.name })} size="sm">
                Try in playground
              </Anchor>
            )}
            <Anchor component={Link} to="/model_hub_table" search={searchOf({ model: versions.data.model.name })} size="sm">
              View in model hub
            </Anchor>
          </Group>
        )}
        {served && versions.data && versions.data.model.type !== "embedding" && (
          <TryModel
            key={`${versions.data.model.name} ${served.version}`}
            model={versions.data.model}
            version={served}
            teamId={federation.teamId}
            isDigits={isDigits(federation)}
          />
        )}
        {versions.data && (
          <DataTable
            label="Versions"
            columns={columns}
            rows={versions.data.data}
            rowKey={({ version }) => String(version)}
            empty={<Text size="sm">No versions yet.</Text>}
          />
        )}
        {versions.isError && (
          <Text size="sm" c="dimmed">
            Not published yet.
          </Text>
        )}
      </Stack>
    </Card>
  );
}

/** Whether the federation trains on the built-in digits, by name or with a partition. */
function isDigits({ settings }: Federation): boolean {
  const { dataset } = (settings["task"] ?? {}) as { dataset?: unknown };
  return dataset === "digits" || (typeof dataset === "object" && dataset !== null && "name" in dataset && dataset.name === "digits");
}
