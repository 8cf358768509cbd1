import { Button, Center, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { Failure } from "../../components/failure.tsx";
import { FormButtons } from "../../components/form-buttons.tsx";
import { CodeInput } from "./code-input.tsx";
import { QrCode } from "./qr-code.tsx";

interface SetUpAnswer {
  secret: string;
  otpauthUrl: string;
}

interface SetUpProps {
  onDone: (recoveryCodes: string[]) => Promise<void>;
  onClose: () => void;
}

/** First the password, then the QR code and a first code. */
export function SetUp({ onDone, onClose }: SetUpProps) {
  const [made, setMade] = useState<SetUpAnswer | undefined>();
  return (
    <Modal opened onClose={onClose} title="Set up two-factor authentication" centered closeOnClickOutside={false}>
      {made ? <ConfirmCode made={made} onDone={onDone} /> : <AskPassword onMade={setMade} onClose={onClose} />}
    </Modal>
  );
}

function AskPassword({ onMade, onClose }: { onMade: (made: SetUpAnswer) => void; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<SetUpAnswer>("/api/auth/totp", { password }),
    onSuccess: onMade,
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <Stack>
        <Failure error={error} />
        <PasswordInput
          label="Password"
          description="To make sure that it is you."
          autoComplete="current-password"
          required
          data-autofocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <FormButtons action="Continue" isPending={isPending} onClose={onClose} />
      </Stack>
    </form>
  );
}

function ConfirmCode({ made, onDone }: { made: SetUpAnswer; onDone: SetUpProps["onDone"] }) {
  const [otp, setOtp] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ recoveryCodes: string[] }>("/api/auth/totp/confirm", { otp }),
    onSuccess: ({ recoveryCodes }) => onDone(recoveryCodes),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <Stack>
        <Text size="sm">
          Scan the QR code with an authenticator app, or enter the secret there. Then enter the code that the app shows.
        </Text>
        <Center>
          <QrCode text={made.otpauthUrl} label="QR code for the authenticator app" />
        </Center>
        <div data-testid="totp-secret">
          <CodeBlock code={made.secret} label="Copy secret" />
        </div>
        <Failure error={error} />
        <CodeInput value={otp} onChange={setOtp} />
        <Text size="xs" c="dimmed">
          This logs you out of all other sessions.
        </Text>
        <Group justify="flex-end">
          <Button type="submit" loading={isPending}>
            Turn on
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
