import { Button, Group, Stack, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** One team alone, by its id: what an abuse report names. */
export function BlockTeam() {
  const [team, setTeam] = useState("");
  const [reason, setReason] = useState("");
  const { mutate, error, isPending } = useAdminChange();
  const set = (deed: "block" | "unblock") =>
    mutate({
      method: "POST",
      path: `teams/${encodeURIComponent(team.trim())}/${deed}`,
      body: reason.trim() === "" ? {} : { reason: reason.trim() },
      done: deed === "block" ? "The team is blocked." : "The block is lifted.",
    });
  return (
    <Stack gap="xs" mt="lg">
      <Title order={3} size="h6">
        Block a team
      </Title>
      <Failure error={error} />
      <Group align="flex-end">
        <TextInput label="Team id" placeholder="team_…" value={team} onChange={(event) => setTeam(event.currentTarget.value)} />
        <TextInput label="Reason" value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
        <Button color="red" variant="light" loading={isPending} disabled={team.trim() === ""} onClick={() => set("block")}>
          Block
        </Button>
        <Button variant="default" loading={isPending} disabled={team.trim() === ""} onClick={() => set("unblock")}>
          Unblock
        </Button>
      </Group>
    </Stack>
  );
}
