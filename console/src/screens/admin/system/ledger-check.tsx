import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { verifyLedger } from "../../../api/admin.ts";
import type { LedgerProof } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { count } from "../../../format/words.ts";

/** Whether the books hold, read anew from the first entry. */
export function LedgerCheck() {
  const proof = useMutation({ mutationFn: verifyLedger });
  return (
    <Stack gap="sm">
      <Failure error={proof.error} />
      <Group>
        <Button variant="default" onClick={() => proof.mutate()} loading={proof.isPending}>
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
