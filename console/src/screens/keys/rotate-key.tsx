import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { ApiKey } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { keepSecret } from "../../components/kept-secrets.ts";
import { SecretDialog } from "../../components/secret-dialog.tsx";

const GRACE = [
  { value: "0", label: "stops at once" },
  { value: "3600", label: "works for one hour more" },
  { value: "86400", label: "works for one day more" },
  { value: "604800", label: "works for one week more" },
];

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [grace, setGrace] = useState("3600");
  const [secret, setSecret] = useState<string>();
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ key: string }>("/api/api-keys/rotate", { apiKey: apiKey.id, graceSeconds: Number(grace) }),
    onSuccess: async ({ key }) => {
      keepSecret(apiKey.id, key);
      setSecret(key);
      await queryClient.invalidateQueries({ queryKey: ["keys"] });
    },
  });
  return (
    <>
      <Modal opened={secret === undefined} onClose={onClose} title={`A new secret for ${apiKey.name}`} centered>
        <Stack>
          <Text size="sm">Name, limits and spend stay. Programs need the new secret.</Text>
          <Failure error={error} />
          <Select label="The old secret" data={GRACE} value={grace} onChange={(value) => setGrace(value ?? "0")} allowDeselect={false} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button onClick={() => mutate()} loading={isPending}>
              Make a new secret
            </Button>
          </Group>
        </Stack>
      </Modal>
      <SecretDialog secret={secret} title={`The new secret of ${apiKey.name}`} onClose={onClose} />
    </>
  );
}
