import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { contentQuery } from "../../api/contents.ts";
import { type Replay, replayOf, replayProblem } from "./replay.ts";

/** Opens the stored call of an id once; then `onReplay` has it. Returns why it cannot be opened. */
export function useReplay(id: string | undefined, onReplay: (replay: Replay) => void): unknown {
  const { data, error } = useQuery({ ...contentQuery(id ?? ""), enabled: id !== undefined });
  const problem = data && id !== undefined ? replayProblem(data) : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each stored call, whatever changes meanwhile
  useEffect(() => {
    if (id !== undefined && data && problem === undefined) onReplay(replayOf(data.prompt));
  }, [id, data, problem]);
  if (id === undefined) return undefined;
  return problem === undefined ? error : new Error(problem);
}
