import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Organization } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Grants credits, or takes them back with a negative amount; both create a ledger entry. */
export function Grant({ organization: { name, id }, onClose }: { organization: Organization; onClose: () => void }) {
  const [amountUsd, setAmount] = useState("");
  const [reference, setReference] = useState("");
  const { mutate, error, isPending } = useAdminChange(onClose);
  const body = { amountUsd: amountUsd.trim(), ...(reference.trim() === "" ? {} : { reference: reference.trim() }) };
  return (
    <Modal opened onClose={onClose} title={`Grant credits to ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({
            method: "POST",
            path: `organizations/${id}/credits`,
            body,
            done: `Granted $${body.amountUsd} to ${name}.`,
          });
        }}
      >
        <Stack>
          <Failure error={error} />
          <TextInput
            label="Amount (USD)"
            description="Use a negative amount to take credits back"
            required
            value={amountUsd}
            onChange={(event) => setAmount(event.currentTarget.value)}
            data-autofocus
          />
          <TextInput label="Reason" value={reference} onChange={(event) => setReference(event.currentTarget.value)} />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending}>
              Grant credits
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
