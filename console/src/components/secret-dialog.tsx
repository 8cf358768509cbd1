import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CodeBlock } from "./code-block.tsx";

/** Shows a secret the only time it can be shown. It closes by its button alone: a stray click must not lose a key. */
export function SecretDialog({ secret, title, onClose }: { secret: string | undefined; title: string; onClose: () => void }) {
  const [stored, setStored] = useState(false);
  const close = () => {
    setStored(false);
    onClose();
  };
  return (
    <Modal
      opened={secret !== undefined}
      onClose={close}
      title={title}
      centered
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Text size="sm">Copy it now and keep it safe. It is not kept here, so it can never be shown again; only made anew.</Text>
        <div data-testid="secret">
          <CodeBlock code={secret ?? ""} label="Copy the secret" />
        </div>
        <Checkbox label="I stored it" checked={stored} onChange={(event) => setStored(event.currentTarget.checked)} />
        <Group justify="flex-end">
          <Button onClick={close} disabled={!stored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
