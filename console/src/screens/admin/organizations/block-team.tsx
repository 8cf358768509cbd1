import { Button, Group, Stack, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { Failure } from "../../../components/failure.tsx";
import { useAdminChange } from "../use-admin-change.ts";

/** Blocks or unblocks one team by its ID, for abuse reports. */
export function BlockTeam() {
  const [team, setTeam] = useState("");
  const [reason, setReason] = useState("");
  const { mutate, error, isPending } = useAdminChange();
  const set = (action: "block" | "unblock") =>
    mutate({
      method: "POST",
      path: `teams/${encodeURIComponent(team.trim())}/${action}`,
      body: reason.trim() === "" ? {} : { reason: reason.trim() },
      done: action === "block" ? "Team blocked." : "Team unblocked.",
    });
  return (
    <Stack gap="xs" mt="lg">
      <Title order={3} size="h6">
        Block or unblock a team
      </Title>
      <Failure error={error} />
      <Group align="flex-end">
        <TextInput label="Team ID" placeholder="team_…" value={team} onChange={(event) => setTeam(event.currentTarget.value)} />
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
