import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type SignUp, signUp } from "../api/session.ts";
import { Failure } from "../components/failure.tsx";
import { OidcButtons } from "../components/oidc.tsx";
import { passwordProblem } from "../components/password-rule.ts";
import { searchOf } from "../components/use-address.ts";
import { AuthPage } from "../layout/auth-page.tsx";

/** Sign-up, also for invitations: `?email=` is the invited email, and with `?token=` of the link the account joins the team. */
export function Screen() {
  const { email, token } = useSearch({ strict: false }) as { email?: string; token?: string };
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: email ?? "", password: "", name: "" },
    validate: { password: passwordProblem },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (account: SignUp) => signUp(token === undefined ? account : { ...account, inviteToken: String(token) }),
    onSuccess: async () => {
      queryClient.clear();
      await navigate({ to: token === undefined ? "/start" : "/teams" });
    },
  });
  return (
    <AuthPage
      title={token ? "Join your team" : "Create an account"}
      about={
        token
          ? "You were invited. Sign up with this email to join the team."
          : "Includes an organization and a first team. No credit card required."
      }
    >
      <form onSubmit={form.onSubmit(({ name, ...values }) => mutate({ ...values, ...(name.trim() === "" ? {} : { name: name.trim() }) }))}>
        <Stack>
          <Failure error={error} />
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            autoFocus={!email}
            {...form.getInputProps("email")}
            key={form.key("email")}
          />
          <TextInput
            label="Your name"
            autoComplete="name"
            maxLength={100}
            {...form.getInputProps("name")}
            key={form.key("name")}
            autoFocus={Boolean(email)}
          />
          <PasswordInput
            label="Password"
            description="At least 8 characters"
            autoComplete="new-password"
            required
            {...form.getInputProps("password")}
            key={form.key("password")}
          />
          <Button type="submit" loading={isPending} fullWidth>
            Sign up
          </Button>
          <OidcButtons next={token === undefined ? "/start" : inviteLink({ email, token })} />
          <Text size="sm" ta="center">
            Already have an account?{" "}
            <Anchor component={Link} to="/login" search={logInSearch({ email, token })} inherit underline="always">
              Log in
            </Anchor>
          </Text>
        </Stack>
      </form>
    </AuthPage>
  );
}

/** With an existing account, the invitation is accepted after login. */
function logInSearch({ email, token }: { email: string | undefined; token: string | undefined }) {
  const address = email ? { email } : {};
  return searchOf(token ? { ...address, next: inviteLink({ email, token }) } : address);
}

function inviteLink({ email, token }: { email: string | undefined; token: string }): string {
  return `/invite?${new URLSearchParams({ ...(email ? { email } : {}), token: String(token) })}`;
}
