import { Group, Modal, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Routing, RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";
import { Failure } from "../../../components/failure.tsx";
import { fieldProblem } from "../../../components/field-problem.ts";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { ReorderList } from "../reorder-list.tsx";
import { fileLabel, SOURCE_LABELS } from "../source-labels.ts";
import { useAdminChange } from "../use-admin-change.ts";
import { FallbackList } from "./fallback-list.tsx";
import {
  canOrder,
  canWeigh,
  type DeploymentDraft,
  FALLBACK_FIELDS,
  type FallbackField,
  type RouteDraft,
  reordered,
  routeBody,
  routeDraft,
  weightProblem,
} from "./route-draft.ts";

const FALLBACK_LABELS: Readonly<Record<FallbackField, string>> = {
  general: "Fallbacks if a call fails",
  contextWindow: "Fallbacks if the prompt exceeds the context window",
  contentPolicy: "Fallbacks if the content policy refuses the prompt",
};

interface RouteFormProps {
  group: RoutingGroup;
  routing: Routing;
  onClose: () => void;
}

/** Changes strategy, weights, order and fallbacks of a model group, as far as the configuration file leaves them open. */
export function RouteForm({ group, routing: { file, strategies, settings, data }, onClose }: RouteFormProps) {
  const [draft, setDraft] = useState(() => routeDraft(group));
  const { mutate, error, isPending } = useAdminChange(onClose);
  const set = (change: Partial<RouteDraft>) => setDraft({ ...draft, ...change });
  const setIn = (field: string) => (group.fileFields.includes(field) ? fileLabel(file) : undefined);
  const isWrong = draft.deployments.some(({ weight }) => weightProblem(weight) !== undefined);
  const save = (body: object) =>
    mutate({ method: "PUT", path: `routing/${encodeURIComponent(group.name)}`, body, done: `Routing of ${group.name} saved.` });
  return (
    <Modal opened onClose={onClose} title={`Routing of ${group.name}`} centered size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong) save(routeBody(group, draft));
        }}
      >
        <Stack>
          <Failure error={error} />
          <Select
            label="Strategy"
            description={setIn("strategy") ? `Set ${setIn("strategy")}` : "How a deployment is chosen among those of the same step"}
            placeholder={`${settings.strategy} (default)`}
            data={strategies}
            value={draft.strategy || null}
            onChange={(strategy) => set({ strategy: strategy ?? "" })}
            disabled={setIn("strategy") !== undefined}
            error={fieldProblem(error, "strategy")}
            clearable
            clearButtonProps={{ "aria-label": "Clear strategy" }}
          />
          {group.deployments.length > 1 && (
            <Deployments
              group={group}
              file={file}
              deployments={draft.deployments}
              error={fieldProblem(error, "deployments")}
              onChange={(deployments) => set({ deployments })}
            />
          )}
          {FALLBACK_FIELDS.map((field) => (
            <FallbackList
              key={field}
              label={FALLBACK_LABELS[field]}
              setIn={setIn(`fallbacks.${field}`)}
              names={draft.fallbacks[field]}
              models={data.map(({ name }) => name).filter((name) => name !== group.name)}
              error={fieldProblem(error, `fallbacks.${field}`)}
              onChange={(names) => set({ fallbacks: { ...draft.fallbacks, [field]: names } })}
            />
          ))}
          <FormButtons action="Save" isPending={isPending} isDisabled={isWrong} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

interface DeploymentsProps {
  group: RoutingGroup;
  file: string | null;
  deployments: readonly DeploymentDraft[];
  error: string | undefined;
  onChange: (deployments: readonly DeploymentDraft[]) => void;
}

function Deployments({ group, file, deployments, error, onChange }: DeploymentsProps) {
  const isOrdered = canOrder(group);
  const change = (id: string, fields: Partial<DeploymentDraft>) =>
    onChange(deployments.map((deployment) => (deployment.id === id ? { ...deployment, ...fields } : deployment)));
  const byId = new Map(group.deployments.map((deployment) => [deployment.id, deployment]));
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        Deployments
      </Text>
      <Text size="xs" c="dimmed">
        {isOrdered
          ? "Tried from top to bottom; those that share a step get calls by weight."
          : `The order is set ${orderSource(group, file)}.`}
      </Text>
      <ReorderList
        label="Deployments"
        items={deployments.map(({ id }) => id)}
        nameOf={(id) => deploymentName(byId.get(id))}
        isFixed={!isOrdered}
        onMove={(ids) => onChange(reordered(deployments, ids))}
      >
        {(id, index) => {
          const [deployment, draft] = [byId.get(id), deployments[index]];
          if (!deployment || !draft) return null;
          return (
            <Row
              deployment={deployment}
              draft={draft}
              weightOf={canWeigh(group, deployment) ? undefined : sourceOf(deployment, file)}
              isFirst={index === 0}
              isOrdered={isOrdered}
              onChange={(fields) => change(id, fields)}
            />
          );
        }}
      </ReorderList>
      {error && (
        <Text size="xs" c="var(--mantine-color-error)">
          {error}
        </Text>
      )}
    </Stack>
  );
}

interface RowProps {
  deployment: RoutingDeployment;
  draft: DeploymentDraft;
  /** Where the weight is set, if not here. */
  weightOf: string | undefined;
  isFirst: boolean;
  isOrdered: boolean;
  onChange: (fields: Partial<DeploymentDraft>) => void;
}

function Row({ deployment, draft, weightOf, isFirst, isOrdered, onChange }: RowProps) {
  const name = deploymentName(deployment);
  return (
    <Group gap="sm" justify="space-between">
      <div style={{ minWidth: 120, flex: 1 }}>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          {deployment.id}
        </Text>
      </div>
      {isOrdered && !isFirst && (
        <Switch
          size="xs"
          label="shares the step above"
          aria-label={`${name} shares the step above`}
          checked={draft.joins}
          onChange={(event) => onChange({ joins: event.currentTarget.checked })}
        />
      )}
      <TextInput
        w={110}
        size="xs"
        label={weightOf ? `Weight, ${weightOf}` : "Weight"}
        aria-label={`Weight of ${name}`}
        inputMode="decimal"
        placeholder="not set"
        value={draft.weight}
        disabled={weightOf !== undefined}
        error={weightProblem(draft.weight)}
        onChange={(event) => onChange({ weight: event.currentTarget.value })}
      />
    </Group>
  );
}

function deploymentName(deployment: RoutingDeployment | undefined): string {
  return deployment ? `${deployment.provider} ${deployment.inferenceModelId}` : "";
}

function sourceOf({ source }: RoutingDeployment, file: string | null): string {
  return source === "configuration" ? fileLabel(file) : SOURCE_LABELS[source];
}

function orderSource({ deployments }: RoutingGroup, file: string | null): string {
  return deployments.some(({ source }) => source === "training") ? "where the model was trained" : fileLabel(file);
}
