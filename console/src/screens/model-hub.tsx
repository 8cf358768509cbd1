import { Anchor, Badge, Group, Text } from "@mantine/core";
import { IconStack2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Card } from "../components/card.tsx";
import { type Column, DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { useAddress } from "../components/use-address.ts";
import { useHasScreen } from "../components/use-has-screen.ts";
import { count } from "../format/text.ts";
import { PublicPage } from "../layout/public-page.tsx";
import { allModelsQuery } from "./hub/all-models.ts";
import { matchesFilter, readHubFilter } from "./hub/hub-filter.ts";
import { HubFilters } from "./hub/hub-filters.tsx";
import { type HubRow, hubRows, rowPrice, rowProviders } from "./hub/hub-rows.ts";
import { ModelPanel } from "./hub/model-panel.tsx";
import { answersChat } from "./playground/choose-models.ts";

/** The public list of models and prices. */
export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: models, error, refetch } = useQuery(allModelsQuery);
  const canTry = useHasScreen("/playground");
  const filter = readHubFilter(address);
  const shown = models && hubRows(models.filter((model) => matchesFilter(model, filter)));
  const opened = hubRows(models ?? []).find(({ model }) => model.name === String(address.model ?? ""));
  return (
    <PublicPage>
      <Page title="Models" about="All models of this gateway, with one API key. Prices in USD per million tokens unless stated otherwise.">
        {error && <Failure error={error} onRetry={() => void refetch()} />}
        <Card>
          <HubFilters models={models ?? []} filter={filter} onChange={setAddress} />
          <DataTable
            label="Models"
            columns={columns((name) => setAddress({ model: name }))}
            rows={shown}
            rowKey={({ model }) => model.name}
            empty={
              <Empty icon={IconStack2} title={models?.length === 0 ? "No models yet" : "No matching models"}>
                {models?.length === 0 ? "An administrator adds models under Admin." : "Clear a filter to see more models."}
              </Empty>
            }
          />
          {shown && shown.length > 0 && (
            <Text size="sm" c="dimmed" mt="sm" role="status">
              {count(shown.length, "model")}
            </Text>
          )}
        </Card>
        {opened && (
          <ModelPanel row={opened} canTry={canTry && answersChat(opened.model)} onClose={() => setAddress({ model: undefined })} />
        )}
      </Page>
    </PublicPage>
  );
}

function columns(onOpen: (name: string) => void): Column<HubRow>[] {
  return [
    {
      title: "Model",
      cell: ({ model }) => (
        <div>
          <Anchor component="button" fw={600} size="sm" ta="left" style={{ overflowWrap: "anywhere" }} onClick={() => onOpen(model.name)}>
            {model.name}
          </Anchor>
          {model.trained && (
            <Group gap={6} mt={2}>
              <Badge size="xs" variant="light" tt="none">
                {`trained here, v${model.trained.version}${model.trained.accuracy === null ? "" : `, ${(100 * model.trained.accuracy).toFixed(1)}%`}`}
              </Badge>
            </Group>
          )}
        </div>
      ),
    },
    { title: "Type", cell: ({ model }) => <Text size="sm">{model.type.replaceAll("_", " ")}</Text>, wideOnly: true },
    { title: "Provider", cell: (row) => <Text size="sm">{rowProviders(row)}</Text>, wideOnly: true },
    {
      title: "Context",
      cell: ({ model }) => <Text size="sm">{model.contextWindow === null ? "–" : count(model.contextWindow, "token")}</Text>,
      isNumber: true,
      wideOnly: true,
    },
    { title: "Input", cell: (row) => <Text size="sm">{rowPrice(row, "input")}</Text>, isNumber: true },
    { title: "Output", cell: (row) => <Text size="sm">{rowPrice(row, "output")}</Text>, isNumber: true },
  ];
}
