import { Button, Stack, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { Team, TeamDetail } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { budgetProblem, LimitFields, type LimitValues, limitBody, limitValues } from "../../components/limit-fields.tsx";

interface TeamValues extends LimitValues, Record<string, unknown> {
  name: string;
}

/** Limits shared by all keys of the team. */
export function TeamLimits({ team }: { team: TeamDetail }) {
  const queryClient = useQueryClient();
  const form = useForm<TeamValues>({
    initialValues: { name: team.name, ...limitValues(team) },
    validate: { budgetUsd: budgetProblem, name: (name) => (name.trim() === "" ? "Enter a name." : null) },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: TeamValues) =>
      call<{ team: Team }>("PATCH", `/api/gw/teams/${team.id}`, { body: { name: values.name.trim(), ...limitBody(values) } }),
    onSuccess: async () => {
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["team"] }), queryClient.invalidateQueries({ queryKey: ["teams"] })]);
      notifyDone("Saved. Changes take effect within a second.");
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack maw={640}>
        <Failure error={error} />
        <TextInput label="Name" required maxLength={100} {...form.getInputProps("name")} />
        <LimitFields form={form as unknown as UseFormReturnType<LimitValues & Record<string, unknown>>} />
        <Button type="submit" loading={isPending} style={{ alignSelf: "flex-start" }}>
          Save
        </Button>
      </Stack>
    </form>
  );
}
