import { Anchor, Button, Group, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "../../api/client.ts";
import { Failure } from "../../components/failure.tsx";
import { AuthPage } from "../../layout/auth-page.tsx";

/** Whether a log-in was refused because its two-factor code is missing or wrong. */
export function needsCode(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401 && error.details.some(({ path }) => path === "otp");
}

interface CodeStepProps {
  isPending: boolean;
  error: unknown;
  onCode: (otp: string) => void;
  onBack: () => void;
}

/** The second step of a log-in with two-factor authentication. */
export function CodeStep({ isPending, error, onCode, onBack }: CodeStepProps) {
  const [isRecovery, setRecovery] = useState(false);
  const [otp, setOtp] = useState("");
  const [sent, setSent] = useState(false);
  const choose = (recovery: boolean) => {
    setOtp("");
    setRecovery(recovery);
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setSent(true);
    onCode(otp);
  };
  return (
    <AuthPage
      title="Two-factor authentication"
      about={isRecovery ? "Each recovery code works once." : "Enter the code that your authenticator app shows for Tributary."}
    >
      <form onSubmit={submit}>
        <Stack>
          {/* The first refusal only led here. */}
          {sent && !isPending && <Failure error={error} />}
          <TextInput
            key={String(isRecovery)}
            label={isRecovery ? "Recovery code" : "Code"}
            placeholder={isRecovery ? "abcde-fghjk" : "123456"}
            autoComplete={isRecovery ? "off" : "one-time-code"}
            inputMode={isRecovery ? "text" : "numeric"}
            maxLength={64}
            required
            autoFocus
            value={otp}
            onChange={(event) => setOtp(event.currentTarget.value)}
          />
          <Button type="submit" loading={isPending} fullWidth>
            Log in
          </Button>
          <Group justify="space-between">
            <Anchor component="button" type="button" size="sm" onClick={() => choose(!isRecovery)}>
              {isRecovery ? "Use a code of the app" : "Use a recovery code"}
            </Anchor>
            <Anchor component="button" type="button" size="sm" onClick={onBack}>
              Back
            </Anchor>
          </Group>
        </Stack>
      </form>
    </AuthPage>
  );
}
