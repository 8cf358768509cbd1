import { Button, List, Select, Stack, Text, Title } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Routing as RoutingAnswer, type RoutingGroup, routingQuery } from "../../api/gateway.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { useAddress } from "../../components/use-address.ts";
import { count, formatMs } from "../../format/text.ts";
import { RouteForm } from "./routing/route-form.tsx";
import { RoutingPicture } from "./routing/routing-picture.tsx";
import { healthText, picturedGroups, sharesOf } from "./routing/shares.ts";

/** Model groups with their deployments, traffic shares and fallbacks. */
export function Routing() {
  const [address, setAddress] = useAddress();
  const { data, error } = useQuery(routingQuery);
  const chosen = address.group === undefined ? undefined : String(address.group);
  const groups = data?.data;
  const pictured = groups && picturedGroups(groups, chosen);
  const [edited, setEdited] = useState<RoutingGroup | undefined>();
  return (
    <Stack>
      <Failure error={error} />
      {data && <Rules routing={data} />}
      <Select
        label="Model"
        placeholder="All with several deployments or a fallback"
        data={(groups ?? []).map(({ name }) => name)}
        value={chosen ?? null}
        onChange={(group) => setAddress({ group: group ?? undefined })}
        clearable
        searchable
        maw={360}
        clearButtonProps={{ "aria-label": "Clear" }}
      />
      {pictured && pictured.length > 0 && <RoutingPicture groups={pictured} />}
      {pictured?.length === 0 && (
        <Empty icon={IconRoute} title="No model has several deployments or a fallback">
          Give two deployments the same model name, or edit a route below to set a fallback, to see the diagram here.
        </Empty>
      )}
      <Title order={2} size="h6">
        Routes
      </Title>
      <DataTable
        label="Routes"
        columns={[...COLUMNS, editColumn(setEdited)]}
        rows={chosen === undefined ? groups : pictured}
        rowKey={({ name }) => name}
        empty={<Empty icon={IconRoute} title="No models yet" />}
      />
      {edited && data && <RouteForm group={edited} routing={data} onClose={() => setEdited(undefined)} />}
      {data && data.aliases.length > 0 && (
        <Text size="sm" c="dimmed">
          Aliases: {data.aliases.map(({ name, model }) => `${name} → ${model}`).join(", ")}.
        </Text>
      )}
    </Stack>
  );
}

function Rules({ routing: { edge, settings } }: { routing: RoutingAnswer }) {
  const { numRetries, timeoutMs, cooldowns, cooldownMs, maxFallbacks } = settings;
  return (
    <Text size="sm" c="dimmed">
      Up to {count(numRetries, "retry", "retries")} and {count(maxFallbacks, "fallback")} per call, with a timeout of {formatMs(timeoutMs)}{" "}
      per attempt. {cooldowns ? `The cool-down of a failing deployment is ${formatMs(cooldownMs)}.` : "Cool-downs are off."} States as seen
      by edge {edge}.
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
  { title: "Deployments", cell: (group) => <Targets group={group} /> },
  { title: "Fallbacks", cell: ({ fallbacks }) => <Fallbacks fallbacks={fallbacks} />, wideOnly: true },
];

function editColumn(onEdit: (group: RoutingGroup) => void): Column<RoutingGroup> {
  return {
    title: "Actions",
    cell: (group) => (
      <Button size="compact-xs" variant="default" onClick={() => onEdit(group)} aria-label={`Edit routing of ${group.name}`}>
        Edit
      </Button>
    ),
    isNumber: true,
  };
}

function Targets({ group }: { group: RoutingGroup }) {
  return (
    <List size="sm" spacing={2} listStyleType="none">
      {sharesOf(group).map(({ deployment, share, turn }) => (
        <List.Item key={deployment.id} style={{ overflowWrap: "anywhere" }}>
          {turn > 1 && "then "}
          {deployment.provider} {deployment.inferenceModelId}
          {share !== undefined && group.deployments.length > 1 && `, ${Math.round(share * 100)}%`}
          <Text span size="sm" c={deployment.health.state === "up" ? "dimmed" : "var(--mantine-color-error)"}>
            {" "}
            – {healthText(deployment)}
          </Text>
        </List.Item>
      ))}
    </List>
  );
}

function Fallbacks({ fallbacks: { general, contextWindow, contentPolicy } }: Pick<RoutingGroup, "fallbacks">) {
  const lines = [
    general.length > 0 && general.join(", then "),
    contextWindow.length > 0 && `context window exceeded: ${contextWindow.join(", then ")}`,
    contentPolicy.length > 0 && `content policy: ${contentPolicy.join(", then ")}`,
  ].filter((line) => line !== false);
  if (lines.length === 0) return <Text size="sm">none</Text>;
  return lines.map((line) => (
    <Text key={line} size="sm" style={{ overflowWrap: "anywhere" }}>
      {line}
    </Text>
  ));
}
