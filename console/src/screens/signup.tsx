import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type SignUp, signUp } from "../api/session.ts";
import { Failure } from "../components/failure.tsx";
import { passwordProblem } from "../components/password-rule.ts";
import { searchOf } from "../components/use-address.ts";
import { AuthPage } from "../layout/auth-page.tsx";

/** Also for those who were invited: `?email=` is the invited address, and with the `?token=` of the link the account joins the team. */
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
      title={token ? "Join your team" : "Make an account"}
      about={
        token
          ? "You were invited. Sign up with this address and the team's models are yours to use."
          : "An organisation and a first team are made with it. No card is needed."
      }
    >
      <form onSubmit={form.onSubmit(({ name, ...values }) => mutate({ ...values, ...(name.trim() === "" ? {} : { name: name.trim() }) }))}>
        <Stack>
          <Failure error={error} />
          <TextInput
            label="E-mail"
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
            description="At least 8 characters; a few words in a row are good."
            autoComplete="new-password"
            required
            {...form.getInputProps("password")}
            key={form.key("password")}
          />
          <Button type="submit" loading={isPending} fullWidth>
            Sign up
          </Button>
          <Text size="sm" ta="center">
            Have an account?{" "}
            <Anchor component={Link} to="/login" search={logInSearch({ email, token })} inherit>
              Log in
            </Anchor>
          </Text>
        </Stack>
      </form>
    </AuthPage>
  );
}

/** With an account already, the invitation is accepted after the log-in. */
function logInSearch({ email, token }: { email: string | undefined; token: string | undefined }) {
  const address = email ? { email } : {};
  return searchOf(token ? { ...address, next: `/invite?${new URLSearchParams({ ...address, token: String(token) })}` } : address);
}
