import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Failure } from "./failure.tsx";

interface ConfirmProps {
  title: string;
  action: string;
  children: ReactNode;
  error: unknown;
  isBusy: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Confirms a reversible action that affects others immediately. Irreversible actions use `TypedConfirm`. */
export function Confirm({ title, action, children, error, isBusy, onConfirm, onClose }: ConfirmProps) {
  return (
    <Modal opened onClose={onClose} title={title} centered>
      <Stack>
        <Text size="sm">{children}</Text>
        <Failure error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red.9" onClick={onConfirm} loading={isBusy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
