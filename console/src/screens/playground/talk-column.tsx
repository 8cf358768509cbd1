import { Badge, Box, Group, Loader, Stack, Text } from "@mantine/core";
import { CopyText } from "../../components/copy-text.tsx";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { count, formatMs } from "../../format/words.ts";
import type { Message } from "./chat-request.ts";
import type { Talk } from "./use-talks.ts";

/** One model's column in the playground. Model output is rendered as text, never as HTML. */
export function TalkColumn({ model, talk }: { model: string; talk: Talk | undefined }) {
  const cost = talk?.spent.reduce((sum, { costNano }) => sum + costNano, 0) ?? 0;
  const tokens = talk?.spent.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0) ?? 0;
  return (
    <Box className="card" p="md" component="section" aria-label={model}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Text fw={650} style={{ overflowWrap: "anywhere" }}>
          {model}
        </Text>
        {talk?.isBusy && <Loader size="xs" aria-label={`${model} is responding`} />}
      </Group>
      <Stack gap="xs" mih={120} aria-live="polite">
        {!talk && (
          <Text size="sm" c="dimmed">
            Send a message below. The response streams here.
          </Text>
        )}
        {talk?.messages.map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end
          <Said key={index} message={message} />
        ))}
        <Failure error={talk?.error} />
      </Stack>
      {talk && (
        <Text size="xs" c="dimmed" mt="sm" data-testid="meter">
          <Usd amount={usdOf(cost)} fw={600} /> · {count(tokens, "token")}
          {talk.firstMs !== undefined && ` · time to first token ${formatMs(talk.firstMs)}`}
          {talk.wholeMs !== undefined && ` · total ${formatMs(talk.wholeMs)}`}
        </Text>
      )}
    </Box>
  );
}

function Said({ message: { role, content } }: { message: Message }) {
  const text = typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const images = typeof content === "string" ? 0 : content.filter(({ type }) => type === "image_url").length;
  return (
    <div>
      <Group justify="space-between" gap={4}>
        <Badge size="xs" variant="default" tt="none">
          {role === "user" ? "you" : role}
        </Badge>
        {role === "assistant" && <CopyText text={text} label="Copy response" />}
      </Group>
      <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }} data-role={role}>
        {text}
      </Text>
      {images > 0 && (
        <Text size="xs" c="dimmed">
          with {count(images, "image")}
        </Text>
      )}
    </div>
  );
}
