import { Badge, Box, Group, Loader, Stack, Text } from "@mantine/core";
import { CopyText } from "../../components/copy-text.tsx";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { count, formatMs } from "../../format/text.ts";
import type { Message } from "./chat-request.ts";
import type { Conversation } from "./use-conversations.ts";

/** One model's column in the playground. Model output is rendered as text, never as HTML. */
export function ConversationColumn({ model, conversation }: { model: string; conversation: Conversation | undefined }) {
  const cost = conversation?.spent.reduce((sum, { costNano }) => sum + costNano, 0) ?? 0;
  const tokens = conversation?.spent.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0) ?? 0;
  return (
    <Box className="card" p="md" component="section" aria-label={model}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Text fw={650} style={{ overflowWrap: "anywhere" }}>
          {model}
        </Text>
        {conversation?.isBusy && <Loader size="xs" aria-label={`${model} is responding`} />}
      </Group>
      <Stack gap="xs" mih={120} aria-live="polite">
        {!conversation && (
          <Text size="sm" c="dimmed">
            Send a message below. The response streams here.
          </Text>
        )}
        {conversation?.messages.map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end
          <MessageView key={index} message={message} />
        ))}
        <Failure error={conversation?.error} />
      </Stack>
      {conversation && (
        <Text size="xs" c="dimmed" mt="sm" data-testid="meter">
          <Usd amount={usdOf(cost)} fw={600} /> · {count(tokens, "token")}
          {conversation.firstMs !== undefined && ` · time to first token ${formatMs(conversation.firstMs)}`}
          {conversation.wholeMs !== undefined && ` · total ${formatMs(conversation.wholeMs)}`}
        </Text>
      )}
    </Box>
  );
}

function MessageView({ message: { role, content } }: { message: Message }) {
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
