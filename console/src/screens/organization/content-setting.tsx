import { NumberInput, Stack, Switch } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { Organization } from "../../api/types.ts";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { SaveButton } from "./save-button.tsx";

const DAYS_MAX = 90;

/** Whether the organization stores prompts and answers, and for how long. */
export function ContentSetting({ organization }: { organization: Organization }) {
  const queryClient = useQueryClient();
  const { logContent, logContentDays } = organization;
  const form = useForm({ initialValues: { logContent, logContentDays } });
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: typeof form.values) => call("PUT", "/api/gw/organizations", { body: { id: organization.id, ...values } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      notifyDone("Saved. It applies to calls from now on.");
    },
  });
  const isReader = organization.role === "member";
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        <Failure error={error} />
        <Switch
          label="Store prompts and answers"
          description="Encrypted, with personal data redacted. Each read is in the audit log."
          disabled={isReader}
          {...form.getInputProps("logContent", { type: "checkbox" })}
        />
        <NumberInput
          label="Retention in days"
          min={1}
          max={DAYS_MAX}
          allowDecimal={false}
          clampBehavior="strict"
          disabled={isReader || !form.values.logContent}
          {...form.getInputProps("logContentDays")}
        />
        <SaveButton isReader={isReader} isPending={isPending} />
      </Stack>
    </form>
  );
}
