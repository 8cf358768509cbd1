import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client.ts";
import type { ApiKey } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { keepSecret } from "../../components/kept-secrets.ts";
import { showSecret } from "../../components/shown-secret.ts";

const GRACE = [
  { value: "0", label: "stops at once" },
  { value: "3600", label: "works for one hour more" },
  { value: "86400", label: "works for one day more" },
  { value: "604800", label: "works for one week more" },
];

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const [grace, setGrace] = useState("3600");
  const queryClient = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<{ key: string }>("/api/api-keys/rotate", { apiKey: apiKey.id, graceSeconds: Number(grace) }),
    onSuccess: ({ key }) => {
      keepSecret(apiKey.id, key);
      showSecret({ title: `The new secret of ${apiKey.name}`, secrets: [key] });
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`A new secret for ${apiKey.name}`} centered>
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
  );
}
