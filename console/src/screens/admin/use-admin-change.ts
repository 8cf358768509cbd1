import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { adminCall } from "../../api/admin.ts";
import { notifyDone } from "../../components/failure.tsx";

interface AdminChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** The notification on success. */
  readonly done: string;
}

/** A mutation of the admin API; on success all lists of the screen are refetched. */
export function useAdminChange<Answer>(onDone?: (answer: Answer) => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: AdminChange) => adminCall<Answer>(method, path, body),
    onSuccess: async (answer, { done }) => {
      notifyDone(done);
      onDone?.(answer);
      await refetchAdminLists(queryClient);
    },
  });
}

export async function refetchAdminLists(queryClient: QueryClient): Promise<void> {
  await Promise.all([queryClient.invalidateQueries({ queryKey: ["admin"] }), queryClient.invalidateQueries({ queryKey: ["models"] })]);
}
