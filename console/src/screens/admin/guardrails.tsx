import { Anchor, Button, Code, Group, Modal, Stack, Switch, Text, Title } from "@mantine/core";
import { IconPlus, IconShieldCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Guardrails as GuardrailsAnswer, guardrailsQuery } from "../../api/gateway.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { count, formatTime } from "../../format/text.ts";
import { GuardrailForm } from "./guardrails/guardrail-form.tsx";
import { STAGES } from "./guardrails/stages.ts";
import { TryOut } from "./guardrails/try-out.tsx";
import { MoveButtons } from "./move-buttons.tsx";
import { fileLabel } from "./source-labels.ts";
import { useAdminChange } from "./use-admin-change.ts";

type Guardrail = GuardrailsAnswer["data"][number];
type Decision = GuardrailsAnswer["decisions"][number];

/** All guardrails in the order in which they are applied, and their recent decisions. */
export function Guardrails() {
  const { data, error } = useQuery(guardrailsQuery);
  const [edited, setEdited] = useState<Guardrail | "new" | undefined>();
  const [tried, setTried] = useState<Guardrail | undefined>();
  const [leaving, setLeaving] = useState<Guardrail | undefined>();
  const changing = useAdminChange();
  const removing = useAdminChange(() => setLeaving(undefined));
  const add = data && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setEdited("new")}>
      Add guardrail
    </Button>
  );
  const names = data?.data.flatMap(({ name, source }) => (source === "catalog" ? [name] : [])) ?? [];
  const columns = columnsOf({
    names,
    isBusy: changing.isPending,
    onEdit: setEdited,
    onTry: setTried,
    onRemove: setLeaving,
    onSwitch: ({ name }, enabled) =>
      changing.mutate({
        method: "PATCH",
        path: `guardrails/${encodeURIComponent(name)}`,
        body: { enabled },
        done: `${name} is ${enabled ? "on" : "off"}.`,
      }),
    onMove: (order) => changing.mutate({ method: "PUT", path: "guardrails/order", body: { names: order }, done: "The order is saved." }),
  });
  return (
    <Stack>
      <Failure error={error ?? changing.error} />
      <Group justify="flex-end">{add}</Group>
      <DataTable
        label="Guardrails"
        columns={columns}
        rows={data?.data}
        rowKey={({ name }) => name}
        empty={
          <Empty icon={IconShieldCheck} title="No guardrails yet">
            A guardrail checks requests and responses: patterns, word lists, personal data, prompt size, JSON schemas or a moderation model.{" "}
            <Anchor href="/docs">The API reference</Anchor> shows how a call selects one.
          </Empty>
        }
      />
      {data && data.data.length > 0 && <Decisions edge={data.edge} decisions={data.decisions} />}
      {edited && data && (
        <GuardrailForm guardrail={edited === "new" ? undefined : edited} kinds={data.kinds} onClose={() => setEdited(undefined)} />
      )}
      {tried && (
        <Modal opened onClose={() => setTried(undefined)} title={`Try ${tried.name}`} centered>
          <TryOut guardrail={{ name: tried.name }} />
        </Modal>
      )}
      {leaving && (
        <TypedConfirm
          title="Delete guardrail"
          word={leaving.name}
          action="Delete"
          error={removing.error}
          isBusy={removing.isPending}
          onConfirm={() =>
            removing.mutate({ method: "DELETE", path: `guardrails/${encodeURIComponent(leaving.name)}`, done: `${leaving.name} deleted.` })
          }
          onClose={() => setLeaving(undefined)}
        >
          Calls of keys, teams and requests that name it will be rejected. To let them pass unchecked, switch it off instead.
        </TypedConfirm>
      )}
    </Stack>
  );
}

function Decisions({ edge, decisions }: { edge: number; decisions: readonly Decision[] }) {
  return (
    <>
      <Title order={2} size="h6">
        Recent decisions
      </Title>
      <DataTable
        label="Recent decisions"
        columns={DECISIONS}
        rows={decisions}
        rowKey={({ at, callId, guardrail, stage }) => `${at}/${callId}/${guardrail}/${stage}`}
        empty={
          <Text size="sm" c="dimmed">
            Nothing has been blocked or masked since this edge started.
          </Text>
        }
      />
      <Text size="sm" c="dimmed">
        Counts and decisions of edge {edge} since its start. The content of calls is never stored here.
      </Text>
    </>
  );
}

interface Actions {
  names: readonly string[];
  isBusy: boolean;
  onEdit: (guardrail: Guardrail) => void;
  onTry: (guardrail: Guardrail) => void;
  onRemove: (guardrail: Guardrail) => void;
  onSwitch: (guardrail: Guardrail, enabled: boolean) => void;
  onMove: (names: readonly string[]) => void;
}

function columnsOf({ names, isBusy, onEdit, onTry, onRemove, onSwitch, onMove }: Actions): Column<Guardrail>[] {
  return [
    {
      title: "Guardrail",
      cell: ({ name, kind, source, file }) => (
        <div style={{ minWidth: 110 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {kind}, {source === "configuration" ? fileLabel(file) : "catalog"}
          </Text>
        </div>
      ),
    },
    { title: "Checks", cell: ({ stage }) => <Text size="sm">{STAGES[stage]}</Text>, wideOnly: true },
    {
      title: "Applies to",
      cell: ({ byDefault }) => <Text size="sm">{byDefault ? "all calls" : "calls that select it"}</Text>,
      wideOnly: true,
    },
    { title: "Blocked", cell: ({ blocked }) => <Text size="sm">{count(blocked, "text")}</Text>, isNumber: true, wideOnly: true },
    { title: "Masked", cell: ({ masked }) => <Text size="sm">{count(masked, "text")}</Text>, isNumber: true, wideOnly: true },
    {
      title: "On",
      cell: (guardrail) =>
        guardrail.source === "catalog" ? (
          <Switch
            aria-label={`${guardrail.name} is on`}
            checked={guardrail.enabled}
            disabled={isBusy}
            onChange={(event) => onSwitch(guardrail, event.currentTarget.checked)}
          />
        ) : (
          <Text size="sm">on</Text>
        ),
    },
    {
      title: "Actions",
      cell: (guardrail) => (
        <Group gap={4} justify="flex-end">
          {guardrail.kind !== "moderation-model" && (
            <Button size="compact-xs" variant="light" onClick={() => onTry(guardrail)} aria-label={`Try ${guardrail.name}`}>
              Try
            </Button>
          )}
          {guardrail.source === "catalog" && (
            <>
              <MoveButtons items={names} item={guardrail.name} isBusy={isBusy} onMove={onMove} />
              <Button size="compact-xs" variant="default" onClick={() => onEdit(guardrail)} aria-label={`Edit ${guardrail.name}`}>
                Edit
              </Button>
              <Button size="compact-xs" variant="default" onClick={() => onRemove(guardrail)} aria-label={`Delete ${guardrail.name}`}>
                Delete
              </Button>
            </>
          )}
        </Group>
      ),
      isNumber: true,
    },
  ];
}

const DECISIONS: Column<Decision>[] = [
  { title: "Time", cell: ({ at }) => <Text size="sm">{formatTime(at)}</Text> },
  { title: "Guardrail", cell: ({ guardrail }) => <Text size="sm">{guardrail}</Text> },
  { title: "Decision", cell: ({ action }) => <StateBadge state={action} /> },
  { title: "Stage", cell: ({ stage }) => <Text size="sm">{stage === "pre" ? "request" : "response"}</Text>, wideOnly: true },
  {
    title: "Call",
    cell: ({ callId }) => <Code style={{ overflowWrap: "anywhere" }}>{callId}</Code>,
    wideOnly: true,
  },
];
