import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type Credentials, logIn } from "../api/session.ts";
import { Failure } from "../components/failure.tsx";
import { OidcButtons, OidcRefusal } from "../components/oidc.tsx";
import { AuthPage } from "../layout/auth-page.tsx";
import { CodeStep, needsCode } from "./login/code-step.tsx";

export function Screen() {
  const { next, expired, email, refused } = useSearch({ strict: false }) as {
    next?: string;
    expired?: boolean;
    email?: string;
    refused?: unknown;
  };
  const navigate = useNavigate();
  const router = useRouter();
  const queryClient = useQueryClient();
  const form = useForm({ mode: "uncontrolled", initialValues: { email: email ?? "", password: "" } });
  const [asked, setAsked] = useState<Credentials | undefined>();
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: logIn,
    onError: (refused, { email: address, password }) => {
      if (needsCode(refused)) setAsked({ email: address, password });
    },
    onSuccess: async () => {
      queryClient.clear();
      const target = safeNext(next);
      if (target) router.history.push(`/ui${target}`);
      else await navigate({ to: "/" });
    },
  });
  if (asked) {
    const back = () => {
      reset();
      setAsked(undefined);
    };
    return <CodeStep isPending={isPending} error={error} onCode={(otp) => mutate({ ...asked, otp })} onBack={back} />;
  }
  return (
    <AuthPage title="Log in">
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack>
          {expired && !error && (
            <Alert color="yellow" variant="light" role="status" styles={{ message: { color: "var(--mantine-color-text)" } }}>
              Your session has expired. Log in again to continue.
            </Alert>
          )}
          {!error && <OidcRefusal reason={refused} />}
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
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            {...form.getInputProps("password")}
            key={form.key("password")}
          />
          <Button type="submit" loading={isPending} fullWidth>
            Log in
          </Button>
          <OidcButtons next={safeNext(next)} />
          <Text size="sm" ta="center">
            <Anchor component={Link} to="/forgot-password" inherit>
              Forgot password?
            </Anchor>{" "}
            · New here?{" "}
            <Anchor component={Link} to="/signup" inherit>
              Sign up
            </Anchor>
          </Text>
        </Stack>
      </form>
    </AuthPage>
  );
}

/** Accepts only a path of the console, to avoid an open redirect. */
function safeNext(next: unknown): string | undefined {
  return typeof next === "string" && /^\/(?![/\\])/.test(next) ? next : undefined;
}
