import { List, Select, Stack, Text, Title } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type Routing as RoutingAnswer, type RoutingGroup, routingQuery } from "../../api/gateway.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { useAddress } from "../../components/use-address.ts";
import { count, formatMs } from "../../format/words.ts";
import { RoutingPicture } from "./routing/routing-picture.tsx";
import { healthWords, picturedGroups, sharesOf } from "./routing/shares.ts";

/** Which deployments stand behind a name, who gets how much, and what is tried when they fail. */
export function Routing() {
  const [address, setAddress] = useAddress();
  const { data, error } = useQuery(routingQuery);
  const chosen = address.group === undefined ? undefined : String(address.group);
  const groups = data?.data;
  const pictured = groups && picturedGroups(groups, chosen);
  return (
    <Stack>
      <Failure error={error} />
      {data && <Rules routing={data} />}
      <Select
        label="Model"
        placeholder="all with a choice or a fallback"
        data={(groups ?? []).map(({ name }) => name)}
        value={chosen ?? null}
        onChange={(group) => setAddress({ group: group ?? undefined })}
        clearable
        searchable
        maw={360}
        clearButtonProps={{ "aria-label": "Show all" }}
      />
      {pictured && pictured.length > 0 && <RoutingPicture groups={pictured} />}
      {pictured?.length === 0 && (
        <Empty icon={IconRoute} title="Every model has one deployment and no fallback">
          Give two deployments the same name, or name fallbacks in router_settings of the configuration file, and the picture appears here.
        </Empty>
      )}
      <Title order={2} size="h6">
        In words
      </Title>
      <DataTable
        label="Routes"
        columns={COLUMNS}
        rows={chosen === undefined ? groups : pictured}
        rowKey={({ name }) => name}
        empty={<Empty icon={IconRoute} title="No model can be called yet" />}
      />
      {data && data.aliases.length > 0 && (
        <Text size="sm" c="dimmed">
          Other names: {data.aliases.map(({ name, model }) => `${name} is ${model}`).join("; ")}.
        </Text>
      )}
    </Stack>
  );
}

function Rules({ routing: { edge, settings } }: { routing: RoutingAnswer }) {
  const { numRetries, timeoutMs, cooldowns, cooldownMs, maxFallbacks } = settings;
  return (
    <Text size="sm" c="dimmed">
      A call is tried again up to {count(numRetries, "time")} and falls back up to {count(maxFallbacks, "time")}, within{" "}
      {formatMs(timeoutMs)} an attempt. {cooldowns ? `A deployment that fails rests for ${formatMs(cooldownMs)}.` : "Nothing cools down."}{" "}
      States as edge {edge} sees them.
    </Text>
  );
}

const COLUMNS: Column<RoutingGroup>[] = [
  {
    title: "Model",
    cell: ({ name, strategy, deployments }) => (
      <div style={{ minWidth: 100 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        {deployments.length > 1 && (
          <Text size="xs" c="dimmed">
            {strategy}
          </Text>
        )}
      </div>
    ),
  },
  { title: "Goes to", cell: (group) => <GoesTo group={group} /> },
  { title: "When that fails", cell: ({ fallbacks }) => <Fallbacks fallbacks={fallbacks} />, wideOnly: true },
];

function GoesTo({ group }: { group: RoutingGroup }) {
  return (
    <List size="sm" spacing={2} listStyleType="none">
      {sharesOf(group).map(({ deployment, share, turn }) => (
        <List.Item key={deployment.id} style={{ overflowWrap: "anywhere" }}>
          {turn > 1 && "then "}
          {deployment.provider} {deployment.inferenceModelId}
          {share !== undefined && group.deployments.length > 1 && `, ${Math.round(share * 100)}%`}
          <Text span size="sm" c={deployment.health.state === "up" ? "dimmed" : "var(--mantine-color-error)"}>
            {" "}
            – {healthWords(deployment)}
          </Text>
        </List.Item>
      ))}
    </List>
  );
}

function Fallbacks({ fallbacks: { general, contextWindow, contentPolicy } }: Pick<RoutingGroup, "fallbacks">) {
  const lines = [
    general.length > 0 && general.join(", then "),
    contextWindow.length > 0 && `a prompt too long: ${contextWindow.join(", then ")}`,
    contentPolicy.length > 0 && `a prompt refused: ${contentPolicy.join(", then ")}`,
  ].filter((line) => line !== false);
  if (lines.length === 0) return <Text size="sm">an error</Text>;
  return lines.map((line) => (
    <Text key={line} size="sm" style={{ overflowWrap: "anywhere" }}>
      {line}
    </Text>
  ));
}
