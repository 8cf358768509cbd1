import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { User } from "../../api/types.ts";
import { Confirm } from "../../components/confirm.tsx";
import { notifyDone } from "../../components/failure.tsx";

/** Sends a user the link that sets a new password, as "Forgot password" does. */
export function SendReset({ user: { email } }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const send = useMutation({
    mutationFn: () => post("/api/auth/password/reset-request", { email }),
    onSuccess: () => {
      notifyDone(`Reset requested for ${email}. Without a mail server, the link is in the log of the control plane.`);
      setOpen(false);
    },
  });
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={`Reset password of ${email}`}>
        Reset password
      </Button>
      {isOpen && (
        <Confirm
          title="Send password reset"
          action="Send"
          error={send.error}
          isBusy={send.isPending}
          onConfirm={() => send.mutate()}
          onClose={() => setOpen(false)}
        >
          Sends {email} a link that sets a new password. The current password works until then.
        </Confirm>
      )}
    </>
  );
}
