import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { change, verify } from "../../api/training.ts";
import type { Federation } from "../../api/types.ts";
import { notifyDone, notifyFailure } from "../../components/failure.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { count } from "../../format/text.ts";
import { ExtendFederation } from "./extend-federation.tsx";
import { hasEnded } from "./federation-status.ts";

export function FederationActions({ federation }: { federation: Federation }) {
  const { id, name, state } = federation;
  const queryClient = useQueryClient();
  const [isStopping, setStopping] = useState(false);
  const refresh = () => queryClient.invalidateQueries({ queryKey: ["federation", id] });
  const changing = useMutation({
    mutationFn: (action: "pause" | "resume") => change(id, action),
    onSuccess: refresh,
    onError: notifyFailure,
  });
  const stopping = useMutation({
    mutationFn: () => change(id, "stop"),
    onSuccess: async () => {
      setStopping(false);
      await refresh();
    },
  });
  const checking = useMutation({
    mutationFn: () => verify(id),
    onSuccess: ({ ok, rounds, remade, firstBad }) => {
      if (ok) notifyDone(`History verified: ${count(rounds, "round")}, ${count(remade, "aggregation")} recomputed.`);
      else notifyFailure(new Error(`Round ${firstBad?.round ?? "?"} is not valid: ${firstBad?.reason ?? "unknown reason"}`));
    },
    onError: notifyFailure,
  });
  return (
    <Group gap="xs">
      <Button variant="default" loading={checking.isPending} onClick={() => checking.mutate()}>
        Verify history
      </Button>
      {(state === "completed" || state === "failed") && <ExtendFederation federation={federation} />}
      {!hasEnded(federation) && (
        <>
          <Button variant="default" loading={changing.isPending} onClick={() => changing.mutate(state === "paused" ? "resume" : "pause")}>
            {state === "paused" ? "Resume" : "Pause"}
          </Button>
          <Button variant="light" color="red" onClick={() => setStopping(true)}>
            Stop
          </Button>
        </>
      )}
      {isStopping && (
        <TypedConfirm
          title="Stop federation"
          word={name}
          action="Stop"
          error={stopping.error}
          isBusy={stopping.isPending}
          onConfirm={() => stopping.mutate()}
          onClose={() => setStopping(false)}
        >
          This cannot be undone. Committed rounds stay; the open round is discarded and its reserved reward is released.
        </TypedConfirm>
      )}
    </Group>
  );
}
