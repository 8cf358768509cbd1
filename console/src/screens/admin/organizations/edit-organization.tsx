import { Modal, Stack, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import type { Organization } from "../../../api/types.ts";
import { Failure } from "../../../components/failure.tsx";
import { FormButtons } from "../../../components/form-buttons.tsx";
import { budgetProblem, type LimitValues, limitBody, limitValues, RateFields } from "../../../components/limit-fields.tsx";
import { useAdminChange } from "../use-admin-change.ts";

interface OrganizationValues extends LimitValues, Record<string, unknown> {
  name: string;
}

/** Renames an organization and sets its rate limits and budget. */
export function EditOrganization({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const form = useForm<OrganizationValues>({
    initialValues: { name: organization.name, ...limitValues({ ...organization, models: null }) },
    validate: { budgetUsd: budgetProblem, name: (name) => (name.trim() === "" ? "Enter a name." : null) },
  });
  const { mutate, isPending, error } = useAdminChange(onClose);
  const save = (values: OrganizationValues) => {
    const { models: _models, ...limits } = limitBody(values);
    mutate({ method: "PATCH", path: `organizations/${organization.id}`, body: { name: values.name.trim(), ...limits }, done: "Saved." });
  };
  return (
    <Modal opened onClose={onClose} title={`Edit ${organization.name}`} size="lg" centered>
      <form onSubmit={form.onSubmit(save)}>
        <Stack>
          <Failure error={error} />
          <TextInput label="Name" required maxLength={100} data-autofocus {...form.getInputProps("name")} />
          <RateFields form={form as unknown as UseFormReturnType<LimitValues & Record<string, unknown>>} />
          <FormButtons action="Save" isPending={isPending} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
