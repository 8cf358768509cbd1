import { Button } from "@mantine/core";
import { useState } from "react";
import type { User } from "../../../api/types.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Turns a user's two-factor authentication off. */
export function ResetTotp({ user: { id, email } }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const { mutate, isPending, error } = useAdminChange(close);
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={`Reset 2FA of ${email}`}>
        Reset 2FA
      </Button>
      {isOpen && (
        <Confirm
          title="Reset two-factor authentication"
          action="Reset"
          error={error}
          isBusy={isPending}
          onConfirm={() => mutate({ method: "DELETE", path: `users/${id}/totp`, done: `${email} logs in with the password only.` })}
          onClose={close}
        >
          For a user who has lost the authenticator app and all recovery codes: {email} logs in with the password only. Make sure that the
          request is theirs.
        </Confirm>
      )}
    </>
  );
}
