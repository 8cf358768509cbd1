import { Button } from "@mantine/core";
import { useState } from "react";
import type { User } from "../../../api/types.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Disables a user, or enables a disabled one. */
export function UserAccess({ user: { id, email, status } }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const { mutate, isPending, error } = useAdminChange(close);
  const isDisabled = status === "disabled";
  const action = isDisabled ? "Enable" : "Disable";
  const change = {
    method: "POST",
    path: `users/${id}/${action.toLowerCase()}`,
    body: {},
    done: `${email} ${action.toLowerCase()}d.`,
  } as const;
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={`${action} ${email}`}>
        {action}
      </Button>
      {isOpen && (
        <Confirm title={`${action} user`} action={action} error={error} isBusy={isPending} onConfirm={() => mutate(change)} onClose={close}>
          {isDisabled
            ? `${email} can log in again, and their API keys work again within a second.`
            : `Ends all sessions of ${email}. Log-in and their API keys are refused within a second. Organizations, credits and logs stay.`}
        </Confirm>
      )}
    </>
  );
}
