import { Anchor, Button, PasswordInput, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { post } from "../api/client.ts";
import { Failure } from "../components/failure.tsx";
import { passwordProblem } from "../components/password-rule.ts";
import { AuthPage } from "../layout/auth-page.tsx";

export function Screen() {
  const { token } = useSearch({ strict: false }) as { token?: unknown };
  const form = useForm({ mode: "uncontrolled", initialValues: { newPassword: "" }, validate: { newPassword: passwordProblem } });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: (body: { newPassword: string }) => post("/api/auth/password/reset", { token: String(token), ...body }),
  });
  if (token === undefined) {
    return (
      <AuthPage title="This link is incomplete">
        <Text>
          Open the link in the email again, or{" "}
          <Anchor component={Link} to="/forgot-password">
            request a new one
          </Anchor>
          .
        </Text>
      </AuthPage>
    );
  }
  return (
    <AuthPage title="Reset password">
      {isSuccess ? (
        <Stack role="status">
          <Text>Your password is reset, and all sessions of the account are logged out.</Text>
          <Button component={Link} to="/login">
            Log in
          </Button>
        </Stack>
      ) : (
        <form onSubmit={form.onSubmit((values) => mutate(values))}>
          <Stack>
            <Failure error={error} />
            <PasswordInput
              label="New password"
              description="At least 8 characters."
              autoComplete="new-password"
              required
              autoFocus
              {...form.getInputProps("newPassword")}
              key={form.key("newPassword")}
            />
            <Button type="submit" loading={isPending}>
              Reset password
            </Button>
          </Stack>
        </form>
      )}
    </AuthPage>
  );
}
