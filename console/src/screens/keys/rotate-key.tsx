import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { ApiKey } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { rememberSecret } from "../../components/last-secret.ts";
import { showSecret } from "../../components/shown-secret.ts";

const GRACE = [
  { value: "0", label: "expires immediately" },
  { value: "3600", label: "expires in 1 hour" },
  { value: "86400", label: "expires in 1 day" },
  { value: "604800", label: "expires in 1 week" },
];

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [grace, setGrace] = useState("3600");
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ key: string }>("/api/api-keys/rotate", { apiKey: apiKey.id, graceSeconds: Number(grace) }),
    onSuccess: ({ key }) => {
      rememberSecret(apiKey.id, key);
      showSecret({ title: `New secret of ${apiKey.name}`, secrets: [key] });
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Rotate ${apiKey.name}`} centered>
      <Stack>
        <Text size="sm">Creates a new secret. Name, limits and spend stay the same.</Text>
        <Failure error={error} />
        <Select label="Old secret" data={GRACE} value={grace} onChange={(value) => setGrace(value ?? "0")} allowDeselect={false} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={() => mutate()} loading={isPending}>
            Rotate key
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
