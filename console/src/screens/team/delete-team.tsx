import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/client.ts";
import type { TeamDetail } from "../../api/types.ts";
import { notifyDone } from "../../components/failure.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { count } from "../../format/text.ts";

export function DeleteTeam({ team }: { team: TeamDetail }) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: () => call<{ revokedKeys: string[] }>("DELETE", `/api/gw/teams/${encodeURIComponent(team.id)}`),
    onSuccess: async ({ revokedKeys }) => {
      notifyDone(`${team.name} deleted. ${count(revokedKeys.length, "key")} revoked.`);
      await navigate({ to: "/teams" });
      queryClient.removeQueries({ queryKey: ["team", team.id] });
      await queryClient.invalidateQueries();
    },
  });
  const close = () => {
    setOpen(false);
    reset();
  };
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Delete team
      </Button>
      {isOpen && (
        <TypedConfirm
          title={`Delete ${team.name}`}
          word={team.name}
          action="Delete team"
          error={error}
          isBusy={isPending}
          onConfirm={() => mutate()}
          onClose={close}
        >
          Revokes {count(team.keyCount, "key")} within a second and removes {count(team.memberCount, "member")}, invitations, files and
          other stored objects of the team. Its calls stay in the logs and the ledger. To keep a key, move it to another team first. This
          cannot be undone.
        </TypedConfirm>
      )}
    </>
  );
}
