import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call, post } from "../../api/client.ts";
import { Failure } from "../../components/failure.tsx";
import { CodeInput } from "./code-input.tsx";

interface NewCodesProps {
  onDone: (recoveryCodes: string[]) => Promise<void>;
  onClose: () => void;
}

/** Replaces the recovery codes. */
export function NewCodes({ onDone, onClose }: NewCodesProps) {
  const [otp, setOtp] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ recoveryCodes: string[] }>("/api/auth/totp/recovery-codes", { otp }),
    onSuccess: ({ recoveryCodes }) => onDone(recoveryCodes),
  });
  return (
    <CodeDialog title="New recovery codes" action="Create codes" isPending={isPending} error={error} onSubmit={mutate} onClose={onClose}>
      <Text size="sm">The current recovery codes stop working.</Text>
      <CodeInput value={otp} onChange={setOtp} />
    </CodeDialog>
  );
}

/** Turns two-factor authentication off, with a code of the app, or with a recovery code and the password. */
export function TurnOff({ onDone, onClose }: { onDone: () => Promise<void>; onClose: () => void }) {
  const [isRecovery, setRecovery] = useState(false);
  const [otp, setOtp] = useState("");
  const [password, setPassword] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call("DELETE", "/api/auth/totp", { body: isRecovery ? { otp, password } : { otp } }),
    onSuccess: onDone,
  });
  const toggle = () => {
    setOtp("");
    setRecovery(!isRecovery);
  };
  return (
    <CodeDialog
      title="Turn off two-factor authentication"
      action="Turn off"
      color="red"
      isPending={isPending}
      error={error}
      onSubmit={mutate}
      onClose={onClose}
    >
      {isRecovery ? (
        <>
          <TextInput
            label="Recovery code"
            autoComplete="off"
            maxLength={64}
            required
            value={otp}
            onChange={(event) => setOtp(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        </>
      ) : (
        <CodeInput value={otp} onChange={setOtp} />
      )}
      <Anchor component="button" type="button" size="sm" ta="left" onClick={toggle}>
        {isRecovery ? "Use a code of the app" : "Use a recovery code"}
      </Anchor>
    </CodeDialog>
  );
}

interface CodeDialogProps {
  title: string;
  action: string;
  color?: string;
  isPending: boolean;
  error: unknown;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}

function CodeDialog({ title, action, color, isPending, error, onSubmit, onClose, children }: CodeDialogProps) {
  return (
    <Modal opened onClose={onClose} title={title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <Stack>
          <Failure error={error} />
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending} {...(color ? { color } : {})}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
