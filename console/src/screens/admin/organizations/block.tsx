import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Organization } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Blocks or unblocks an organization with all its teams; the reason is stored and shown. */
export function Block({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const { id, name } = organization;
  const action = isBlockedByAdmin(organization) ? "unblock" : "block";
  const [reason, setReason] = useState("");
  const { mutate, error, isPending } = useAdminChange(onClose);
  return (
    <Modal opened onClose={onClose} title={`${action === "block" ? "Block" : "Unblock"} ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({
            method: "POST",
            path: `organizations/${id}/${action}`,
            body: reason.trim() === "" ? {} : { reason: reason.trim() },
            done: action === "block" ? `${name} blocked.` : `${name} unblocked.`,
          });
        }}
      >
        <Stack>
          <Text size="sm">
            {action === "block"
              ? "All calls of its teams are rejected immediately. Buying credits does not lift the block."
              : "Its teams can make calls again, except teams that are blocked individually."}
          </Text>
          <Failure error={error} />
          <TextInput
            label="Reason"
            required={action === "block"}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending} {...(action === "block" ? { color: "red" } : {})}>
              {action === "block" ? "Block" : "Unblock"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export const isBlockedByAdmin = ({ status, blockedReason }: Organization): boolean => status === "blocked" && blockedReason === "admin";
