import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { verifyLedger } from "../../../api/admin.ts";
import type { LedgerProof } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { count } from "../../../format/text.ts";

/** Verifies the whole ledger from its first entry. */
export function LedgerCheck() {
  const proof = useMutation({ mutationFn: verifyLedger });
  return (
    <Stack gap="sm">
      <Failure error={proof.error} />
      <Group>
        <Button variant="default" onClick={() => proof.mutate()} loading={proof.isPending}>
          Verify the whole ledger
        </Button>
        <Text size="sm" c="dimmed">
          Checks the hash chains, anchors, balances, billed calls and roll-ups.
        </Text>
      </Group>
      {proof.data && <Proof proof={proof.data} />}
    </Stack>
  );
}

function Proof({ proof: { ok, entries, accounts, usageRows, anchors, hash, firstBad } }: { proof: LedgerProof }) {
  return (
    <Alert color={ok ? "teal" : "red"} variant="light" role="status" title={ok ? "The ledger is valid" : "The ledger is not valid"}>
      <Text size="sm">
        {count(entries, "entry", "entries")}, {count(accounts, "account")}, {count(usageRows, "call")}, {count(anchors, "anchor")}.
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
