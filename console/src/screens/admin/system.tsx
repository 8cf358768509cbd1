import { Alert, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { edgeHealthQuery, verifyLedger } from "../../api/admin.ts";
import type { LedgerProof } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { count } from "../../format/words.ts";

/** The edge that answered, and whether the books hold. */
export function System() {
  const { data: edge, error } = useQuery({ ...edgeHealthQuery, refetchInterval: 5_000 });
  const proof = useMutation({ mutationFn: verifyLedger });
  return (
    <Stack>
      <Failure error={error ?? proof.error} />
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat name="Edge" value={edge && `number ${edge.edge}`} note={edge?.status ?? ""} />
        <Stat name="Up for" value={edge && upFor(edge.uptimeSeconds)} note="this process" />
        <Stat name="Memory" value={edge && `${(edge.memoryBytes / 1_048_576).toFixed(0)} MiB`} note="resident" />
        <Stat name="Node" value={edge?.node} note="runtime" />
      </SimpleGrid>
      <Group>
        <Button onClick={() => proof.mutate()} loading={proof.isPending}>
          Re-read all the books
        </Button>
        <Text size="sm" c="dimmed">
          The ledger and its chain, balances, the calls it charges, the sums of charts.
        </Text>
      </Group>
      {proof.data && <Proof proof={proof.data} />}
    </Stack>
  );
}

function Proof({ proof: { ok, entries, accounts, usageRows, hash, firstBad } }: { proof: LedgerProof }) {
  return (
    <Alert color={ok ? "teal" : "red"} variant="light" role="status" title={ok ? "The books hold" : "The books do not hold"}>
      <Text size="sm">
        {count(entries, "entry", "entries")}, {count(accounts, "account")}, {count(usageRows, "call")}.
      </Text>
      {firstBad && (
        <Text size="sm">
          {firstBad.kind} {firstBad.record}, entry #{firstBad.seq}: {firstBad.reason}
        </Text>
      )}
      <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
        {hash}
      </Text>
    </Alert>
  );
}

function upFor(seconds: number): string {
  if (seconds < 120) return count(seconds, "second");
  return seconds < 7_200 ? count(Math.floor(seconds / 60), "minute") : count(Math.floor(seconds / 3_600), "hour");
}
