import { Anchor, Code, Stack, Text, Title } from "@mantine/core";
import { IconShieldCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type Guardrails as GuardrailsAnswer, guardrailsQuery } from "../../api/gateway.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { count, formatTime } from "../../format/text.ts";

type Guardrail = GuardrailsAnswer["data"][number];
type Decision = GuardrailsAnswer["decisions"][number];

const STAGES = { pre: "requests", post: "responses", both: "requests and responses" } as const;

/** Configured guardrails and their recent decisions. */
export function Guardrails() {
  const { data, error } = useQuery(guardrailsQuery);
  return (
    <Stack>
      <Failure error={error} />
      <DataTable
        label="Guardrails"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ name }) => name}
        empty={
          <Empty icon={IconShieldCheck} title="No guardrails configured">
            Add them under guardrails in the configuration file: patterns, word lists, PII masking, prompt size, JSON schemas or a
            moderation model. <Anchor href="/docs">The API reference</Anchor> shows how a call selects one.
          </Empty>
        }
      />
      {data && data.data.length > 0 && (
        <>
          <Title order={2} size="h6">
            Recent decisions
          </Title>
          <DataTable
            label="Recent decisions"
            columns={DECISIONS}
            rows={data.decisions}
            rowKey={({ at, callId, guardrail, stage }) => `${at}/${callId}/${guardrail}/${stage}`}
            empty={
              <Text size="sm" c="dimmed">
                Nothing has been blocked or masked since this edge started.
              </Text>
            }
          />
          <Text size="sm" c="dimmed">
            Counts and decisions of edge {data.edge} since its start. The content of calls is never stored here.
          </Text>
        </>
      )}
    </Stack>
  );
}

const COLUMNS: Column<Guardrail>[] = [
  {
    title: "Guardrail",
    cell: ({ name, kind }) => (
      <div style={{ minWidth: 110 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {kind}
        </Text>
      </div>
    ),
  },
  { title: "Checks", cell: ({ stage }) => <Text size="sm">{STAGES[stage]}</Text>, wideOnly: true },
  { title: "Applies to", cell: ({ byDefault }) => <Text size="sm">{byDefault ? "all calls" : "calls that select it"}</Text> },
  { title: "Blocked", cell: ({ blocked }) => <Text size="sm">{count(blocked, "text")}</Text>, isNumber: true },
  { title: "Masked", cell: ({ masked }) => <Text size="sm">{count(masked, "text")}</Text>, isNumber: true, wideOnly: true },
];

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
