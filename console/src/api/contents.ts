import { queryOptions } from "@tanstack/react-query";
import { get } from "./client.ts";
import type { CallContent } from "./types.ts";

/** Prompt and answer of a call. Every request is a line of the audit log, so it is made once. */
export const contentQuery = (id: string) =>
  queryOptions({
    queryKey: ["log", id, "content"],
    queryFn: async ({ signal }) =>
      (await get<{ content: CallContent }>(`/api/gw/logs/${encodeURIComponent(id)}/content`, undefined, signal)).content,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
