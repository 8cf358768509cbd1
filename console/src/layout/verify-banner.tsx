import { Alert, Button, Group, Text } from "@mantine/core";
import { IconMailQuestion } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { post } from "../api/client.ts";
import { notifyFailure } from "../components/failure.tsx";

/** Shown on every screen until the address is verified, where the platform sends mail. */
export function VerifyBanner({ email }: { email: string }) {
  const { mutate, isPending, isSuccess } = useMutation({
    mutationFn: () => post("/api/auth/verify-email/resend"),
    onError: notifyFailure,
  });
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<IconMailQuestion aria-hidden />}
      mb="lg"
      role="status"
      data-testid="verify-banner"
      styles={{ message: { color: "var(--mantine-color-text)" } }}
    >
      <Group justify="space-between">
        <Text size="sm">
          Verify {email} with the link in our email. {isSuccess && "We sent a new one."}
        </Text>
        <Button variant="default" size="xs" onClick={() => mutate()} loading={isPending} disabled={isSuccess}>
          Send again
        </Button>
      </Group>
    </Alert>
  );
}
