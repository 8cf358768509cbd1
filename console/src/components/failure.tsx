import { Alert, Button, Code, Group, List, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertTriangle } from "@tabler/icons-react";
import { ApiError } from "../api/client.ts";

/** Shows an error with its message, code, request ID and a retry button. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (!error) return null;
  const { message, code, requestId, details } = factsOf(error);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert" title={message} styles={ALERT_STYLES}>
      {details.length > 0 && (
        <List size="sm">
          {details.map(({ path, message: detail }) => (
            <List.Item key={path + detail}>
              <Code>{path.replace(/^body\./, "")}</Code> {detail}
            </List.Item>
          ))}
        </List>
      )}
      <Group justify="space-between" mt={4}>
        <Text size="xs">
          Code <Code>{code}</Code>
          {requestId && (
            <>
              {" "}
              · request ID <Code>{requestId}</Code>
            </>
          )}
        </Text>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

const ALERT_STYLES = { title: { color: "var(--mantine-color-error)" }, message: { color: "var(--mantine-color-text)" } };

const CLOSE = { "aria-label": "Close" };

/** Shows an error as a notification, for a failed action. */
export function notifyFailure(error: unknown): void {
  const { message, code, requestId } = factsOf(error);
  notifications.show({
    color: "red",
    title: message,
    message: `Code ${code}${requestId ? ` · request ID ${requestId}` : ""}`,
    autoClose: 10_000,
    closeButtonProps: CLOSE,
  });
}

export function notifyDone(message: string): void {
  notifications.show({ color: "teal", message, closeButtonProps: CLOSE });
}

/** Shows what to know about something that was done; it stays until it is closed. */
export function notifyWarning(message: string): void {
  notifications.show({ color: "yellow", title: "Warning", message, autoClose: false, closeButtonProps: CLOSE });
}

function factsOf(error: unknown): Pick<ApiError, "message" | "code" | "requestId" | "details"> {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return { message: `Console error: ${message}`, code: "CONSOLE_ERROR", requestId: undefined, details: [] };
}
