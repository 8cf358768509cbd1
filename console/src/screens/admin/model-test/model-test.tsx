import { Button, Code, Group, Modal, Select, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { callWithHeaders } from "../../../api/client.ts";
import { teamsQuery } from "../../../api/queries.ts";
import type { Model } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { Usd } from "../../../components/usd.tsx";
import { usdOf } from "../../../format/money.ts";
import { formatMs } from "../../../format/text.ts";
import { usePlaygroundKey } from "../../playground/use-playground-key.ts";
import { answerText, type TestCall, testCall } from "./test-call.ts";

interface ModelTestProps {
  model: Model;
  title?: string;
  /** A field that chooses the model. */
  choice?: ReactNode;
  onClose: () => void;
}

/** Sends one small call to a model with a short-lived key, billed like any other call. */
export function ModelTest({ model, title = `Test ${model.name}`, choice, onClose }: ModelTestProps) {
  const { data: teams, error: teamsError } = useQuery(teamsQuery());
  const [chosen, setChosen] = useState<string | null>(null);
  const team = chosen ?? teams?.data[0]?.id;
  const keyOf = usePlaygroundKey();
  const asked = testCall(model.type, model.name);
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async ({ call, teamId }: { call: TestCall; teamId: string }) => {
      const secret = await keyOf(teamId);
      const startedAt = performance.now();
      const { body, headers } = await callWithHeaders<unknown>("POST", call.path, {
        body: call.body,
        headers: { authorization: `Bearer ${secret}` },
      });
      return { body, headers, tookMs: performance.now() - startedAt };
    },
  });
  return (
    <Modal opened onClose={onClose} title={title} centered>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {asked
            ? "Sends one small call through the whole path: key, limits, routing, provider, ledger."
            : "Models of this type need an audio file. Test them with the API."}
        </Text>
        {choice}
        <Select
          label="Billed to team"
          data={(teams?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          value={team ?? null}
          onChange={setChosen}
          allowDeselect={false}
        />
        <Failure error={error ?? teamsError} />
        {data && !error && <Outcome type={model.type} {...data} />}
        <Group justify="flex-end">
          <Button
            loading={isPending}
            disabled={!asked || team === undefined}
            onClick={() => asked && team !== undefined && mutate({ call: asked, teamId: team })}
          >
            {data ? "Send again" : "Send"}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Outcome({ type, body, headers, tookMs }: { type: string; body: unknown; headers: Headers; tookMs: number }) {
  const cost = headers.get("x-gw-cost-nano");
  const rows = [
    ["Response", answerText(type, body)],
    ["Latency", `${formatMs(tookMs)}, measured in this browser`],
    ["Cost", cost === null ? "see logs" : <Usd key="cost" amount={usdOf(Number(cost))} />],
    ["Deployment", <Code key="deployment">{headers.get("x-gw-model-id") ?? "unknown"}</Code>],
    ["Request ID", <Code key="request">{headers.get("x-request-id") ?? headers.get("x-gw-call-id") ?? "unknown"}</Code>],
  ] as const;
  return (
    <Table withRowBorders={false} verticalSpacing={3} aria-label="Result" role="status">
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w={100}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
