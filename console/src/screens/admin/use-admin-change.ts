import { useMutation, useQueryClient } from "@tanstack/react-query";
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
export function useAdminChange(onDone?: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: AdminChange) => adminCall(method, path, body),
    onSuccess: async (_answer, { done }) => {
      notifyDone(done);
      onDone?.();
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["admin"] }), queryClient.invalidateQueries({ queryKey: ["models"] })]);
    },
  });
}
