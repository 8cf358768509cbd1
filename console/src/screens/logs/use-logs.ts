import { type QueryKey, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { get, type Query } from "../../api/client.ts";
import type { LogList } from "../../api/queries.ts";
import type { LogSort } from "./log-filter.ts";
import { type LogPages, mergeNewest } from "./merge-newest.ts";

const PAGE_SIZE = 100;
const TAIL_MS = 1_500;

/** Calls, newest first or as sorted, loaded page by page on scroll. While `isLive`, which a sorted log is not, new calls are added at the top. */
export function useLogs(filters: Query, { isLive, sort }: { isLive: boolean; sort?: LogSort | undefined }) {
  const queryClient = useQueryClient();
  const query = { ...filters, sort: sort && `-${sort}` };
  const asked = JSON.stringify(query);
  const pages = useInfiniteQuery<LogList, Error, LogPages, QueryKey, string | undefined>({
    queryKey: ["logs", "pages", asked],
    queryFn: ({ pageParam, signal }) => get<LogList>("/api/gw/logs", { ...query, pageSize: PAGE_SIZE, cursor: pageParam }, signal),
    initialPageParam: undefined,
    getNextPageParam: ({ meta }) => meta.nextCursor ?? undefined,
    // Pages are not refetched, because rows would move while the user reads; the tail query adds new calls.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const tail = useQuery({
    queryKey: ["logs", "tail", asked],
    queryFn: ({ signal }) => get<LogList>("/api/gw/logs", { ...query, pageSize: PAGE_SIZE }, signal),
    enabled: isLive && pages.isSuccess,
    refetchInterval: TAIL_MS,
    gcTime: 0,
  });
  useEffect(() => {
    if (!tail.data) return;
    const key = ["logs", "pages", asked];
    const known = queryClient.getQueryData<LogPages>(key);
    if (!known) return;
    const merged = mergeNewest(known, tail.data);
    if (merged) queryClient.setQueryData(key, merged);
    else void queryClient.resetQueries({ queryKey: key });
  }, [tail.data, asked, queryClient]);
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = pages;
  const isSearching = sort === undefined && hasNextPage && pages.data?.pages.at(-1)?.meta.partial === true;
  useEffect(() => {
    // A search covers a part of a large log per request, so it continues until a page is full or the log ends.
    if (isSearching && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [isSearching, isFetchingNextPage, isError, fetchNextPage]);
  return { ...pages, isSearching };
}
