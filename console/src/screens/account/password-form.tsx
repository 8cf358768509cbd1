import { Button, PasswordInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "../../api/client.ts";
import { adoptToken } from "../../api/session.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { passwordProblem } from "../../components/password-rule.ts";
import { sessionsKey } from "./sessions.tsx";

export function PasswordForm() {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { currentPassword: "", newPassword: "" },
    validate: { newPassword: passwordProblem },
  });
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (values: { currentPassword: string; newPassword: string }) => {
      const { token } = await post<{ token: string }>("/api/auth/password", values);
      await adoptToken(token);
    },
    onSuccess: async () => {
      form.reset();
      notifyDone("Password changed.");
      await queryClient.invalidateQueries({ queryKey: sessionsKey });
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
