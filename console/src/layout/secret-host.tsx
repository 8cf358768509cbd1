import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CodeBlock } from "../components/code-block.tsx";
import { saveText } from "../components/save-text.ts";
import { hideSecret, type ShownSecret, useShownSecret } from "../components/shown-secret.ts";

/** The dialog for secrets, above every screen, so that a secret stays visible until the user confirms that it is saved. */
export function SecretHost() {
  const shown = useShownSecret();
  return shown && <SecretDialog key={shown.secrets.join()} shown={shown} />;
}

/** The dialog closes only by its button, because an accidental click must not lose a key. */
function SecretDialog({ shown: { title, secrets, fileName } }: { shown: ShownSecret }) {
  const [stored, setStored] = useState(false);
  return (
    <Modal opened onClose={hideSecret} title={title} centered closeOnClickOutside={false} closeOnEscape={false} withCloseButton={false}>
      <Stack>
        <Text size="sm">
          Copy {secrets.length === 1 ? "it" : "them"} now and save {secrets.length === 1 ? "it" : "them"} securely. The server cannot show{" "}
          {secrets.length === 1 ? "it" : "them"} again.
        </Text>
        <Stack gap="xs" data-testid="secret">
          {(fileName ? [secrets.join("\n")] : secrets).map((secret) => (
            <CodeBlock key={secret} code={secret} label="Copy secret" />
          ))}
        </Stack>
        <Checkbox
          label={secrets.length === 1 ? "I have saved the secret" : "I have saved the secrets"}
          checked={stored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          {fileName && (
            <Button variant="default" onClick={() => saveText(`${secrets.join("\n")}\n`, { fileName, type: "text/plain" })}>
              Download
            </Button>
          )}
          <Button onClick={hideSecret} disabled={!stored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
