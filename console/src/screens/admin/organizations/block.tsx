import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Organization } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Blocks or unblocks an organization with all its teams; the reason is stored and shown. */
export function Block({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const { id, name } = organization;
  const deed = isBlockedByAdmin(organization) ? "unblock" : "block";
  const [reason, setReason] = useState("");
  const { mutate, error, isPending } = useAdminChange(onClose);
  return (
    <Modal opened onClose={onClose} title={`${deed === "block" ? "Block" : "Unblock"} ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          mutate({
            method: "POST",
            path: `organizations/${id}/${deed}`,
            body: reason.trim() === "" ? {} : { reason: reason.trim() },
            done: deed === "block" ? `${name} blocked.` : `${name} unblocked.`,
          });
        }}
      >
        <Stack>
          <Text size="sm">
            {deed === "block"
              ? "All calls of its teams are rejected immediately. Buying credits does not lift the block."
              : "Its teams can make calls again, except teams that are blocked individually."}
          </Text>
          <Failure error={error} />
          <TextInput
            label="Reason"
            required={deed === "block"}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending} {...(deed === "block" ? { color: "red" } : {})}>
              {deed === "block" ? "Block" : "Unblock"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export const isBlockedByAdmin = ({ status, blockedReason }: Organization): boolean => status === "blocked" && blockedReason === "admin";
