import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "../../api/client.ts";
import type { ApiKey } from "../../api/types.ts";
import { notifyDone } from "../../components/failure.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";

export function RemoveKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post("/api/api-keys/remove", { apiKey: apiKey.id }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["keys"] });
      notifyDone(`${apiKey.name} revoked. Calls with it are rejected within a second.`);
      onClose();
    },
  });
  return (
    <TypedConfirm
      title={`Revoke ${apiKey.name}`}
      word={apiKey.name}
      action="Revoke key"
      error={error}
      isBusy={isPending}
      onConfirm={() => mutate()}
      onClose={onClose}
    >
      Calls with this key are rejected within a second. This cannot be undone. Its calls stay in the logs.
    </TypedConfirm>
  );
}
