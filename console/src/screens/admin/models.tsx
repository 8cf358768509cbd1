import { Badge, Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconPlus, IconStack2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { adminModelsQuery } from "../../api/admin.ts";
import type { AdminModel } from "../../api/types.ts";
import { Confirm } from "../../components/confirm.tsx";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { useAddress } from "../../components/use-address.ts";
import { priceText } from "../hub/model-price.ts";
import { ModelForm } from "./model-form.tsx";
import { ModelTest } from "./model-test/model-test.tsx";
import { SOURCE_LABELS } from "./source-labels.ts";
import { useAdminChange } from "./use-admin-change.ts";

export function Models() {
  const [address, setAddress] = useAddress();
  const search = address.search === undefined ? undefined : String(address.search);
  const find = useDebouncedCallback((text: string) => setAddress({ search: text, page: undefined }), 250);
  const { data, error } = useQuery(adminModelsQuery({ search, page: Number(address.page ?? 1), pageSize: 20, sort: "name" }));
  const [edited, setEdited] = useState<AdminModel | "new" | undefined>();
  const [tested, setTested] = useState<AdminModel | undefined>();
  const [switched, setSwitched] = useState<AdminModel | undefined>();
  const changing = useAdminChange(() => setSwitched(undefined));
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setEdited("new")}>
      Add model
    </Button>
  );
  const columns = columnsOf({ onTest: setTested, onPrice: setEdited, onStatus: setSwitched });
  return (
    <>
      <Failure error={error} />
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
        empty={<Empty icon={IconStack2} title={search ? "No models found" : "No models yet"} action={add} />}
      />
      <Pages meta={data?.meta} unit="model" onPage={(page) => setAddress({ page })} />
      {tested && <ModelTest model={tested} onClose={() => setTested(undefined)} />}
      {switched && (
        <Confirm
          title={switched.status === "active" ? "Disable model" : "Enable model"}
          action={switched.status === "active" ? "Disable" : "Enable"}
          error={changing.error}
          isBusy={changing.isPending}
          onConfirm={() => changing.mutate(statusChange(switched))}
          onClose={() => {
            changing.reset();
            setSwitched(undefined);
          }}
        >
          {switched.status === "active"
            ? `Calls to ${switched.name} will be rejected for all organizations, unless another deployment has the same name.`
            : `All organizations can call ${switched.name} again.`}
        </Confirm>
      )}
      {edited && <ModelForm model={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

interface Actions {
  onTest: (model: AdminModel) => void;
  onPrice: (model: AdminModel) => void;
  onStatus: (model: AdminModel) => void;
}

function columnsOf({ onTest, onPrice, onStatus }: Actions): Column<AdminModel>[] {
  return [
    {
      title: "Model",
      cell: ({ id, name, provider, type, inferenceModelId }) => (
        <div style={{ minWidth: 110 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {provider.name}, {type.replaceAll("_", " ")}, {inferenceModelId}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace" style={{ overflowWrap: "anywhere" }}>
            {id}
          </Text>
        </div>
      ),
    },
    { title: "Status", cell: ({ status }) => <StateBadge state={status} />, wideOnly: true },
    { title: "Input / 1M", cell: (model) => <Text size="sm">{priceText(model, "input")}</Text>, isNumber: true },
    { title: "Output / 1M", cell: (model) => <Text size="sm">{priceText(model, "output")}</Text>, isNumber: true, wideOnly: true },
    { title: "Price version", cell: ({ pricing }) => <Text size="sm">{pricing?.version ?? "–"}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Actions",
      cell: (model) => (
        <Group gap={4} justify="flex-end">
          {model.source !== "training" && (
            <Button size="compact-xs" variant="light" onClick={() => onTest(model)} aria-label={`Test ${model.name}`}>
              Test
            </Button>
          )}
          {model.source === "catalog" ? (
            <>
              <Button size="compact-xs" variant="default" onClick={() => onPrice(model)} aria-label={`Edit price of ${model.name}`}>
                Edit price
              </Button>
              <Button
                size="compact-xs"
                variant="default"
                aria-label={`${model.status === "active" ? "Disable" : "Enable"} ${model.name}`}
                onClick={() => onStatus(model)}
              >
                {model.status === "active" ? "Disable" : "Enable"}
              </Button>
            </>
          ) : (
            <Badge variant="default" tt="none" miw="max-content">
              {SOURCE_LABELS[model.source]}
            </Badge>
          )}
        </Group>
      ),
      isNumber: true,
    },
  ];
}

function statusChange({ id, name, status }: AdminModel) {
  const next = status === "active" ? "disabled" : "active";
  return { method: "PATCH" as const, path: `models/${id}`, body: { status: next }, done: `${name} is now ${next}.` };
}
