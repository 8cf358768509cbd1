import { Badge, Box, Group, Image, Loader, Stack, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import { CodeBlock } from "../../components/code-block.tsx";
import { CopyText } from "../../components/copy-text.tsx";
import { Failure } from "../../components/failure.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { count, formatMs } from "../../format/text.ts";
import { imagesOf, type Message, textOf } from "./chat-request.ts";
import { isJsonDocument } from "./delta-text.ts";
import type { Conversation } from "./use-conversations.ts";

/** One model's column in the playground. Model output is rendered as Markdown elements, never as HTML. */
export function ConversationColumn({ model, conversation }: { model: string; conversation: Conversation | undefined }) {
  const end = useRef<HTMLDivElement>(null);
  const length = conversation?.messages.reduce((sum, { content }) => sum + textOf(content).length, 0) ?? 0;
  useEffect(() => {
    // What the model says stays in view while it arrives.
    if (length > 0) end.current?.scrollIntoView({ block: "nearest" });
  }, [length]);
  const cost = conversation?.spent.reduce((sum, { costNano }) => sum + costNano, 0) ?? 0;
  const input = conversation?.spent.reduce((sum, { inputTokens }) => sum + inputTokens, 0) ?? 0;
  const output = conversation?.spent.reduce((sum, { outputTokens }) => sum + outputTokens, 0) ?? 0;
  return (
    <Box className="card chat-column" p="md" component="section" aria-label={model}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Text fw={650} style={{ overflowWrap: "anywhere" }}>
          {model}
        </Text>
        {conversation?.isBusy && <Loader size="xs" aria-label={`${model} is responding`} />}
      </Group>
      {/* A conversation that scrolls is reachable by keyboard. */}
      <Stack className="chat-messages" gap="sm" aria-live="polite" tabIndex={0} role="group" aria-label={`Conversation with ${model}`}>
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
        <div ref={end} />
      </Stack>
      {conversation && (
        <Text size="xs" c="dimmed" mt="sm" data-testid="meter">
          <Usd amount={usdOf(cost)} fw={600} /> · {input.toLocaleString("en-US")} in, {count(output, "token")} out
          {conversation.firstMs !== undefined && ` · time to first token ${formatMs(conversation.firstMs)}`}
          {conversation.wholeMs !== undefined && ` · total ${formatMs(conversation.wholeMs)}`}
        </Text>
      )}
    </Box>
  );
}

function MessageView({ message: { role, content, tool_calls: calls } }: { message: Message }) {
  const text = textOf(content);
  return (
    <div className={role === "user" ? "chat-turn chat-own" : "chat-turn"}>
      <Group justify="space-between" gap={4}>
        <Badge size="xs" variant="default" tt="none">
          {role === "user" ? "you" : role}
        </Badge>
        {role === "assistant" && <CopyText text={text} label="Copy response" />}
      </Group>
      <Text component="div" size="sm" style={{ overflowWrap: "anywhere" }} data-role={role}>
        {role === "assistant" ? <AnswerText text={text} /> : <span style={{ whiteSpace: "pre-wrap" }}>{text}</span>}
      </Text>
      {calls !== undefined && <CodeBlock code={JSON.stringify(calls, null, 2)} label="Copy tool calls" />}
      <Group gap={6} mt={4}>
        {imagesOf(content).map((url) => (
          <Image key={url} src={url} alt="Image of this message" w={96} h={96} fit="cover" radius="sm" />
        ))}
      </Group>
    </div>
  );
}

function AnswerText({ text }: { text: string }) {
  return isJsonDocument(text) ? <CodeBlock code={text} label="Copy JSON" /> : <Markdown text={text} />;
}
