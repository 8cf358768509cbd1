import { Anchor, Button, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { post } from "../api/client.ts";
import { Failure } from "../components/failure.tsx";
import { AuthPage } from "../layout/auth-page.tsx";

export function Screen() {
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" } });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: (body: { email: string }) => post("/api/auth/password/reset-request", body),
  });
  return (
    <AuthPage title="Forgot password" about="We will send you a link to reset it.">
      {isSuccess ? (
        <Stack role="status">
          <Text>
            If an account exists for this email, we sent a link that works once. A server without email writes the link to its log: ask your
            administrator.
          </Text>
          <Anchor component={Link} to="/login">
            Back to login
          </Anchor>
        </Stack>
      ) : (
        <form onSubmit={form.onSubmit((values) => mutate(values))}>
          <Stack>
            <Failure error={error} />
            <TextInput
              label="Email"
              type="email"
              autoComplete="username"
              required
              autoFocus
              {...form.getInputProps("email")}
              key={form.key("email")}
            />
            <Button type="submit" loading={isPending}>
              Send reset link
            </Button>
            <Anchor component={Link} to="/login" size="sm" ta="center">
              Back to login
            </Anchor>
          </Stack>
        </form>
      )}
    </AuthPage>
  );
}
