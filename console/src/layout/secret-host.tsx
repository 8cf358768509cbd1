import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CodeBlock } from "../components/code-block.tsx";
import { dropShownSecret, type ShownSecret, useShownSecret } from "../components/shown-secret.ts";

/** The one dialog for secrets, above every screen: whatever a screen unmounts, the secret stays until it is confirmed as stored. */
export function SecretHost() {
  const shown = useShownSecret();
  return shown && <SecretDialog key={shown.secrets.join()} shown={shown} />;
}

/** It closes by its button alone: a stray click must not lose a key. */
function SecretDialog({ shown: { title, secrets } }: { shown: ShownSecret }) {
  const [stored, setStored] = useState(false);
  return (
    <Modal
      opened
      onClose={dropShownSecret}
      title={title}
      centered
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Text size="sm">
          Copy {secrets.length === 1 ? "it" : "them"} now and store {secrets.length === 1 ? "it" : "them"} safely. The server cannot show{" "}
          {secrets.length === 1 ? "it" : "them"} again.
        </Text>
        <Stack gap="xs" data-testid="secret">
          {secrets.map((secret) => (
            <CodeBlock key={secret} code={secret} label="Copy the secret" />
          ))}
        </Stack>
        <Checkbox label="I stored it" checked={stored} onChange={(event) => setStored(event.currentTarget.checked)} />
        <Group justify="flex-end">
          <Button onClick={dropShownSecret} disabled={!stored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
