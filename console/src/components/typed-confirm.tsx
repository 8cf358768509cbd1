import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Failure } from "./failure.tsx";

interface TypedConfirmProps {
  title: string;
  /** The text that the user must type. */
  word: string;
  action: string;
  children: ReactNode;
  error: unknown;
  isBusy: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Confirms an irreversible action: the user must type the name. */
export function TypedConfirm({ title, word, action, children, error, isBusy, onConfirm, onClose }: TypedConfirmProps) {
  const [typed, setTyped] = useState("");
  const isSame = typed.trim() === word.trim();
  return (
    <Modal opened onClose={onClose} title={title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isSame) onConfirm();
        }}
      >
        <Stack>
          <Text size="sm">{children}</Text>
          <Failure error={error} />
          <TextInput
            label={`Type “${word}” to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red.9" disabled={!isSame} loading={isBusy}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
