import { Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconPlus, IconStack2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { adminModelsQuery } from "../../api/admin.ts";
import type { Model } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { useAddress } from "../../components/use-address.ts";
import { priceWords } from "../hub/model-price.ts";
import { ModelForm } from "./model-form.tsx";
import { ModelTest } from "./model-test/model-test.tsx";
import { useAdminChange } from "./use-admin-change.ts";

export function Models() {
  const [address, setAddress] = useAddress();
  const search = address.search === undefined ? undefined : String(address.search);
  const find = useDebouncedCallback((text: string) => setAddress({ search: text, page: undefined }), 250);
  const { data, error } = useQuery(adminModelsQuery({ search, page: Number(address.page ?? 1), pageSize: 20, sort: "name" }));
  const [edited, setEdited] = useState<Model | "new" | undefined>();
  const [tested, setTested] = useState<Model | undefined>();
  const changing = useAdminChange();
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setEdited("new")}>
      Add a model
    </Button>
  );
  const columns: Column<Model>[] = [
    {
      title: "Model",
      cell: ({ name, provider, type }) => (
        <div style={{ minWidth: 110 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {provider.name}, {type.replaceAll("_", " ")}
          </Text>
        </div>
      ),
    },
    { title: "State", cell: ({ status }) => <StateBadge state={status} />, wideOnly: true },
    { title: "Input / 1M", cell: (model) => <Text size="sm">{priceWords(model, "input")}</Text>, isNumber: true },
    { title: "Output / 1M", cell: (model) => <Text size="sm">{priceWords(model, "output")}</Text>, isNumber: true, wideOnly: true },
    { title: "Price version", cell: ({ pricing }) => <Text size="sm">{pricing?.version ?? "–"}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Action",
      cell: (model) => (
        <Group gap={4} justify="flex-end">
          <Button size="compact-xs" variant="light" onClick={() => setTested(model)} aria-label={`Test ${model.name}`}>
            Test
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => setEdited(model)} aria-label={`Price of ${model.name}`}>
            Price
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`${model.status === "active" ? "Disable" : "Enable"} ${model.name}`}
            onClick={() =>
              changing.mutate({
                method: "PATCH",
                path: `models/${model.id}`,
                body: { status: model.status === "active" ? "disabled" : "active" },
                done: `${model.name} is ${model.status === "active" ? "disabled" : "active"} now.`,
              })
            }
          >
            {model.status === "active" ? "Disable" : "Enable"}
          </Button>
        </Group>
      ),
      isNumber: true,
    },
  ];
  return (
    <>
      <Failure error={error ?? changing.error} />
      <Group justify="space-between" mb="sm">
        <TextInput
          aria-label="Search models"
          placeholder="Search by name"
          defaultValue={search ?? ""}
          onChange={(event) => find(event.currentTarget.value)}
          maw={320}
        />
        {add}
      </Group>
      <DataTable
        label="Models"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={<Empty icon={IconStack2} title={search ? "No model has that name" : "No model yet"} action={add} />}
      />
      <Pages meta={data?.meta} unit="model" onPage={(page) => setAddress({ page })} />
      {tested && <ModelTest model={tested} onClose={() => setTested(undefined)} />}
      {edited && <ModelForm model={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}
