import { Button, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { CallContent, UsageLog } from "../../api/types.ts";
import { searchOf } from "../../components/use-address.ts";
import { useHasScreen } from "../../components/use-has-screen.ts";
import { replayProblem } from "../playground/replay.ts";

/** Opens a stored call of the chat API in the playground as it was sent, or says why that is not possible. */
export function ReplayCall({ log: { id, endpoint, model, teamId }, content }: { log: UsageLog; content: CallContent }) {
  const hasPlayground = useHasScreen("/playground");
  if (!hasPlayground || !endpoint.endsWith("/chat/completions")) return null;
  const problem = replayProblem(content);
  if (problem !== undefined) return <Text size="sm">{problem}</Text>;
  return (
    <Button
      component={Link}
      to="/playground"
      search={searchOf({ call: id, models: model, team: teamId })}
      variant="light"
      leftSection={<IconPlayerPlay size={16} aria-hidden />}
    >
      Open in playground
    </Button>
  );
}
