import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "../../api/client.ts";
import type { Team, TeamMember } from "../../api/types.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { formatTime } from "../../format/text.ts";

const ROLES = [
  { value: "member", label: "Member: uses the team's keys and models" },
  { value: "admin", label: "Admin: also manages members, keys and limits" },
  { value: "owner", label: "Owner: also manages admins and owners" },
];

interface Invited {
  member: TeamMember;
  created: boolean;
  inviteUrl: string | null;
  expiresAt: string | null;
}

/** Invites an email to a team. The link is shown to the inviter, who sends it where no mail is configured. */
export function InviteMember({ team }: { team: Pick<Team, "id" | "name"> }) {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { email: "", role: "member" } });
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: (values: { email: string; role: string }) =>
      post<Invited>("/api/gw/teams/invite-member", { teamId: team.id, teamName: team.name, ...values }),
    onSuccess: async (answer) => {
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["team"] }), queryClient.invalidateQueries({ queryKey: ["teams"] })]);
      form.setFieldValue("email", "");
      notifyDone(outcomeOf(answer));
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        <Group align="flex-end">
          <TextInput
            label="Invite by email"
            type="email"
            required
            placeholder="ada@example.org"
            flex={2}
            miw={220}
            {...form.getInputProps("email")}
          />
          <Select label="Role" data={ROLES} allowDeselect={false} flex={2} miw={220} {...form.getInputProps("role")} />
          <Button type="submit" loading={isPending}>
            Invite
          </Button>
        </Group>
        <Failure error={error} />
        {data?.inviteUrl && (
          <div>
            <Text size="sm" mb={4}>
              Send this link to {data.member.email}. It works once, for an account with that email, until{" "}
              {data.expiresAt && formatTime(data.expiresAt)}:
            </Text>
            <CodeBlock code={data.inviteUrl} label="Copy link" />
          </div>
        )}
      </Stack>
    </form>
  );
}

function outcomeOf({ member, created }: Invited): string {
  if (member.status === "active") return `${member.email} ${created ? "joined the team" : "is already a member"}.`;
  return created ? `${member.email} invited.` : `New link for ${member.email}. The previous link no longer works.`;
}
