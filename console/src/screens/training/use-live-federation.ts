import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { eventsAddress, federationQuery, roundsQuery } from "../../api/training.ts";
import { hasEnded } from "./federation-status.ts";

/** Events that change what the screen shows. */
const EVENTS = [
  ...["created", "waiting", "running", "paused", "resumed", "completed", "failed", "stopped"].map((state) => `federation.${state}`),
  ...["selecting", "training", "aggregating", "evaluating", "committed"].map((phase) => `round.${phase}`),
  ...["accepted", "rejected", "failed", "late"].map((state) => `update.${state}`),
  "end",
];
const DEBOUNCE_MS = 150;
/** Fallback poll for unknown events and for streams that a proxy has closed. */
const POLL_MS = 5_000;

/** A federation and its rounds, refetched on every event. */
export function useLiveFederation(id: string) {
  const queryClient = useQueryClient();
  const federation = useQuery({
    ...federationQuery(id),
    refetchInterval: ({ state }) => (state.data && hasEnded(state.data) ? false : POLL_MS),
  });
  const rounds = useQuery(roundsQuery(id));
  const isDone = federation.data !== undefined && hasEnded(federation.data);
  useEffect(() => {
    if (isDone) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = () => {
      // A round sends a burst of events, so one refetch covers all of them.
      timer ??= setTimeout(() => {
        timer = undefined;
        void queryClient.invalidateQueries({ queryKey: ["federation", id] });
      }, DEBOUNCE_MS);
    };
    const source = new EventSource(eventsAddress(id));
    for (const name of EVENTS) source.addEventListener(name, refresh);
    source.addEventListener("end", () => source.close());
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [id, isDone, queryClient]);
  return { federation, rounds };
}
