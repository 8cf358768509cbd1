import { queryOptions } from "@tanstack/react-query";
import { get } from "../../api/client.ts";
import type { List, Model } from "../../api/types.ts";

const PAGE_SIZE = 100;
const PAGES_MAX = 20;

/** The whole catalog, because the API cannot filter by price or context and local filters respond immediately. */
export const allModelsQuery = queryOptions({
  queryKey: ["models", "all"],
  staleTime: 30_000,
  queryFn: async ({ signal }) => {
    const models: Model[] = [];
    for (let page = 1; page <= PAGES_MAX; page++) {
      const { data, meta } = await get<List<Model>>("/api/models", { page, pageSize: PAGE_SIZE, sort: "name" }, signal);
      models.push(...data);
      if (page >= meta.totalPages) break;
    }
    return models;
  },
});
