import { useMutation, useQueryClient } from "@tanstack/react-query";
import { adminCall } from "../../api/admin.ts";
import { notifyDone } from "../../components/failure.tsx";

interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** What is said when it is done. */
  readonly done: string;
}

/** One change at the admins' doors; every list of the screen is read again after it. */
export function useAdminChange(onDone?: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: Change) => adminCall(method, path, body),
    onSuccess: async (_answer, { done }) => {
      notifyDone(done);
      onDone?.();
      await Promise.all([queryClient.invalidateQueries({ queryKey: ["admin"] }), queryClient.invalidateQueries({ queryKey: ["models"] })]);
    },
  });
}
