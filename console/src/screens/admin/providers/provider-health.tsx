import { Skeleton, Text } from "@mantine/core";
import type { RoutingDeployment } from "../../../api/gateway.ts";
import { StateBadge } from "../../../components/state-badge.tsx";
import { ago, count } from "../../../format/text.ts";
import { healthText } from "../routing/shares.ts";

/** Health of a provider's deployments at the edge that responded, from the results of real calls; nothing is probed. */
export function ProviderHealth({ deployments }: { deployments: readonly RoutingDeployment[] | undefined }) {
  if (!deployments) return <Skeleton height={18} width={90} />;
  if (deployments.length === 0) return <StateBadge state="no models" />;
  const ill = deployments.filter(({ health }) => health.state !== "up");
  const state = ill.length === 0 ? "up" : ill.length < deployments.length ? "degraded" : "cooling";
  const [succeeded, failed] = [sum(deployments, "succeeded"), sum(deployments, "failed")];
  const [last] = deployments.flatMap(({ health }) => health.lastFailure ?? []).sort((left, right) => (left.at < right.at ? 1 : -1));
  return (
    <div>
      <StateBadge state={state} />
      {ill.map((deployment) => (
        <Text key={deployment.id} size="xs">
          {deployment.inferenceModelId} is {healthText(deployment)}
        </Text>
      ))}
      <Text size="xs" c="dimmed">
        {succeeded + failed === 0
          ? "no calls since this edge started"
          : `${count(succeeded, "success", "successes")}, ${count(failed, "failure")}`}
        {last && `; last failure ${ago(last.at)}: ${last.kind}`}
      </Text>
    </div>
  );
}

function sum(deployments: readonly RoutingDeployment[], field: "succeeded" | "failed"): number {
  return deployments.reduce((total, { health }) => total + health[field], 0);
}
