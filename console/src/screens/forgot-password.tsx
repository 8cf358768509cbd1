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
    <AuthPage title="Forgotten password" about="We send a link that sets a new one.">
      {isSuccess ? (
        <Stack role="status">
          <Text>
            If there is an account with this address, a mail is on its way. The link in it works once. A server without mail writes the link
            to its log: ask whoever runs it.
          </Text>
          <Anchor component={Link} to="/login">
            Back to the log-in
          </Anchor>
        </Stack>
      ) : (
        <form onSubmit={form.onSubmit((values) => mutate(values))}>
          <Stack>
            <Failure error={error} />
            <TextInput
              label="E-mail"
              type="email"
              autoComplete="username"
              required
              autoFocus
              {...form.getInputProps("email")}
              key={form.key("email")}
            />
            <Button type="submit" loading={isPending}>
              Send the link
            </Button>
            <Anchor component={Link} to="/login" size="sm" ta="center">
              Back to the log-in
            </Anchor>
          </Stack>
        </form>
      )}
    </AuthPage>
  );
}
