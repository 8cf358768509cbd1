import { Button, PasswordInput, SimpleGrid, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery } from "@tanstack/react-query";
import { post } from "../api/client.ts";
import { meQuery } from "../api/queries.ts";
import { adoptToken } from "../api/session.ts";
import { Card } from "../components/card.tsx";
import { Failure, notifyDone } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { passwordProblem } from "../components/password-rule.ts";
import { formatTime } from "../format/text.ts";

export function Screen() {
  const { data: me } = useQuery(meQuery);
  return (
    <Page title="Account">
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Card title="Profile">
          {me && (
            <Stack gap="xs">
              <Fact name="Name" value={me.user.name} />
              <Fact name="Email" value={me.user.email} />
              <Fact name="Platform role" value={me.user.role} />
              <Fact name="Member since" value={formatTime(me.user.createdAt)} />
            </Stack>
          )}
        </Card>
        <Card title="Change password" about="This logs you out of all other sessions.">
          <PasswordForm />
        </Card>
      </SimpleGrid>
    </Page>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text style={{ overflowWrap: "anywhere" }}>{value}</Text>
    </div>
  );
}

function PasswordForm() {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { currentPassword: "", newPassword: "" },
    validate: { newPassword: passwordProblem },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (values: { currentPassword: string; newPassword: string }) => {
      const { token } = await post<{ token: string }>("/api/auth/password", values);
      await adoptToken(token);
    },
    onSuccess: () => {
      form.reset();
      notifyDone("Password changed.");
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack>
        <Failure error={error} />
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          required
          {...form.getInputProps("currentPassword")}
          key={form.key("currentPassword")}
        />
        <PasswordInput
          label="New password"
          autoComplete="new-password"
          required
          {...form.getInputProps("newPassword")}
          key={form.key("newPassword")}
        />
        <Button type="submit" loading={isPending} style={{ alignSelf: "flex-start" }}>
          Change password
        </Button>
      </Stack>
    </form>
  );
}
