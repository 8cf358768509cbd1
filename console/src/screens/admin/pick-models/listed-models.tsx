import { Badge, Button, Checkbox, Group, ScrollArea, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch, IconStack2 } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { adminModelsQuery, listPricesQuery } from "../../../api/admin.ts";
import type { ListedModel, Provider } from "../../../api/types.ts";
import { type Column, DataTable, Pages } from "../../../components/data-table.tsx";
import { Empty } from "../../../components/empty.tsx";
import { Failure } from "../../../components/failure.tsx";
import { searchOf } from "../../../components/use-address.ts";
import { priceText } from "../../hub/model-price.ts";

interface Props {
  provider: Provider;
  isPicked: (inferenceModelId: string) => boolean;
  onToggle: (listed: ListedModel, isPicked: boolean) => void;
}

/** The models of the provider's kind in the price lists, to tick. */
export function ListedModels({ provider, isPicked, onToggle }: Props) {
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), 250);
  const [page, setPage] = useState(1);
  const query = { kind: provider.kind, page, pageSize: 50, ...(search === "" ? {} : { search }) };
  const { data, error } = useQuery({ ...listPricesQuery(query), placeholderData: keepPreviousData });
  const added = useQuery(adminModelsQuery({ provider: provider.id, pageSize: 100 }));
  const known = new Set(added.data?.data.map(({ inferenceModelId }) => inferenceModelId));
  return (
    <>
      <Failure error={error ?? added.error} />
      <TextInput
        aria-label="Filter models"
        placeholder="Filter by model ID"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setPage(1);
        }}
        // Enter filters, it does not add.
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        data-autofocus
      />
      <ScrollArea.Autosize mah={300} type="auto">
        <DataTable
          label="Models with list prices"
          columns={columns({ isPicked, onToggle, known })}
          rows={data?.data}
          rowKey={({ inferenceModelId }) => inferenceModelId}
          empty={search === "" ? <NoList kind={provider.kind} /> : <Empty icon={IconStack2} title="No models found" />}
        />
      </ScrollArea.Autosize>
      <Pages meta={data?.meta} unit="model" onPage={setPage} />
    </>
  );
}

function NoList({ kind }: { kind: string }) {
  return (
    <Empty
      icon={IconStack2}
      title={`The price lists have no models of ${kind}`}
      action={
        <Button component={Link} to="/admin" search={searchOf({ tab: "models" })} variant="default">
          Open models
        </Button>
      }
    >
      Add a model by its ID and a price of your own.
    </Empty>
  );
}

const columns = ({ isPicked, onToggle, known }: Omit<Props, "provider"> & { known: ReadonlySet<string> }): Column<ListedModel>[] => [
  {
    title: "Model",
    cell: (listed) => (
      <Checkbox
        checked={isPicked(listed.inferenceModelId)}
        onChange={(event) => onToggle(listed, event.currentTarget.checked)}
        label={
          <Group gap={6}>
            <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
              {listed.inferenceModelId}
            </Text>
            {known.has(listed.inferenceModelId) && (
              <Badge variant="default" tt="none" size="sm">
                in the catalog
              </Badge>
            )}
          </Group>
        }
        description={factsOf(listed)}
      />
    ),
  },
  { title: "Input", cell: (listed) => <Text size="sm">{listText(listed, "input")}</Text>, isNumber: true },
  { title: "Output", cell: (listed) => <Text size="sm">{listText(listed, "output")}</Text>, isNumber: true },
];

const listText = (listed: ListedModel, which: "input" | "output"): string =>
  listed.pricing === null && which === "output" ? "–" : priceText(listed, which);

function factsOf({ type, contextWindow }: ListedModel): string {
  const kind = type.replaceAll("_", " ");
  return contextWindow === null ? kind : `${kind}, ${contextWindow.toLocaleString("en-US")} tokens of context`;
}
