import { Button, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { adminCall } from "../../../api/admin.ts";
import type { User } from "../../../api/types.ts";
import { CodeBlock } from "../../../components/code-block.tsx";
import { Confirm } from "../../../components/confirm.tsx";
import { notifyDone } from "../../../components/failure.tsx";
import { formatTime } from "../../../format/text.ts";

interface PasswordReset {
  readonly resetUrl: string | null;
  readonly expiresAt: string;
}

/** Mails a user the link that sets a new password. Without a mail server the admin gets the link. */
export function SendReset({ user: { id, email } }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const send = useMutation({
    mutationFn: () => adminCall<PasswordReset>("POST", `users/${id}/password-reset`),
    onSuccess: ({ resetUrl }) => {
      if (resetUrl !== null) return;
      notifyDone(`Reset link mailed to ${email}.`);
      setOpen(false);
    },
  });
  const close = () => {
    setOpen(false);
    send.reset();
  };
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={`Reset password of ${email}`}>
        Reset password
      </Button>
      {isOpen && !send.data?.resetUrl && (
        <Confirm
          title="Reset password"
          action="Create link"
          error={send.error}
          isBusy={send.isPending}
          onConfirm={() => send.mutate()}
          onClose={close}
        >
          Creates a link with which {email} sets a new password. It is mailed, or shown here where no mail is configured. The current
          password works until then; a new one ends all sessions. Make sure that the request is theirs.
        </Confirm>
      )}
      {isOpen && send.data?.resetUrl && (
        <Modal opened onClose={close} title="Reset password" centered>
          <Stack>
            <Text size="sm">
              Send this link to {email}. It sets a new password once, until {formatTime(send.data.expiresAt)}:
            </Text>
            <CodeBlock code={send.data.resetUrl} label="Copy link" />
          </Stack>
        </Modal>
      )}
    </>
  );
}
