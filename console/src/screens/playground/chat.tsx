import { ActionIcon, Alert, Button, Drawer, Group, SimpleGrid, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAdjustments, IconCode, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Model } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { usdOf } from "../../format/money.ts";
import { chatRequest, isComplete, lastSent, type Message, userMessage } from "./chat-request.ts";
import { chatProblem, inputHint, namedModels, playgroundModels } from "./choose-models.ts";
import { ConversationColumn } from "./conversation-column.tsx";
import { MessageInput } from "./message-input.tsx";
import { SettingsPanel } from "./settings-panel.tsx";
import { ShowCode } from "./show-code.tsx";
import { readChats, storeChats } from "./stored-chats.ts";
import { useConversations } from "./use-conversations.ts";
import { useReplay } from "./use-replay.ts";

interface ChatProps {
  list: readonly Model[] | undefined;
  /** The user whose conversations are stored. */
  owner: string;
  team: string | undefined;
  secret: string;
  onSecret: (secret: string) => void;
  secretOf: () => Promise<string>;
}

/** The chat: conversations beside a panel of settings, in the height of the window. */
export function Chat({ list, owner, team, secret, onSecret, secretOf }: ChatProps) {
  const [address, setAddress] = useAddress();
  const queryClient = useQueryClient();
  const [before] = useState(() => readChats(localStorage, owner));
  const [settings, setSettings] = useState(before.settings);
  const [isCodeOpen, code] = useDisclosure(false);
  const [isPanelOpen, panel] = useDisclosure(false);
  const { conversations, ask, begin, stop, clear } = useConversations(before.chats);
  const replayed = useReplay(address.call === undefined ? undefined : String(address.call), (replay) => {
    begin(replay.model, replay.messages);
    setSettings(replay.settings);
    setAddress({ call: undefined, models: replay.model, model: undefined });
  });
  const known = playgroundModels(list ?? []);
  const named = namedModels(address);
  const models = named.length > 0 ? named.filter((name) => chatProblem(name, list ?? []) === undefined) : known.slice(0, 1);
  const shown = models.flatMap((model) => conversations[model] ?? []);
  const isBusy = Object.values(conversations).some((conversation) => conversation.isBusy);
  const costNano = shown.flatMap(({ spent }) => spent).reduce((sum, spent) => sum + spent.costNano, 0);
  useEffect(() => {
    // Not at every piece of an answer.
    if (!isBusy) storeChats(localStorage, owner, { settings, chats: storable(conversations) });
  }, [owner, settings, conversations, isBusy]);
  const canSend = models.length > 0 && (secret !== "" || team !== undefined) && isComplete(settings);
  /** A conversation that an answer is missing from: of a stored call, or one that failed. */
  const isUnanswered = shown.length > 0 && shown.every(({ messages }) => messages.length > 0 && messages.at(-1)?.role !== "assistant");
  const send = async (message: Message | undefined) => {
    // All columns share one key, because they send at the same time.
    const paying = secretOf();
    await ask(message, { models, settings, secretOf: () => paying });
    await queryClient.invalidateQueries({ queryKey: ["quota"] });
  };
  const settingsPanel = (
    <SettingsPanel
      {...{ models, team, secret, settings, known }}
      onModels={(next) => setAddress({ models: next.join(","), model: undefined })}
      onTeam={(next) => setAddress({ team: next })}
      onSecret={onSecret}
      onSettings={setSettings}
    />
  );
  return (
    <div className="chat">
      <div className="chat-main">
        <Group gap="xs" justify="space-between">
          <Text size="sm" role="status">
            Total cost: <Usd amount={usdOf(costNano)} fw={600} />
          </Text>
          <Group gap="xs">
            <Button variant="default" size="compact-sm" leftSection={<IconCode size={16} aria-hidden />} onClick={code.open}>
              Show code
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<IconTrash size={16} aria-hidden />}
              onClick={clear}
              disabled={Object.keys(conversations).length === 0 || isBusy}
            >
              Clear
            </Button>
            <ActionIcon variant="default" size="md" hiddenFrom="md" aria-label="Settings" onClick={panel.open}>
              <IconAdjustments size={18} />
            </ActionIcon>
          </Group>
        </Group>
        <Failure error={replayed} />
        <Hints names={named.length > 0 ? named : models} list={list} />
        <SimpleGrid className="chat-columns" cols={{ base: 1, sm: Math.min(2, Math.max(1, models.length)) }}>
          {models.map((model) => (
            <ConversationColumn key={model} model={model} conversation={conversations[model]} />
          ))}
        </SimpleGrid>
        {isUnanswered && !isBusy && (
          <Group>
            <Button
              variant="light"
              leftSection={<IconPlayerPlay size={16} aria-hidden />}
              disabled={!canSend}
              onClick={() => void send(undefined)}
            >
              Send this conversation
            </Button>
          </Group>
        )}
        <MessageInput isBusy={isBusy} canSend={canSend} onSend={(text, images) => void send(userMessage(text, images))} onStop={stop} />
      </div>
      <aside className="card chat-panel" aria-label="Settings">
        {settingsPanel}
      </aside>
      <Drawer opened={isPanelOpen} onClose={panel.close} title="Settings" position="right" hiddenFrom="md">
        {settingsPanel}
      </Drawer>
      {isCodeOpen && (
        <ShowCode
          requests={models.map((model) => ({
            model,
            path: "/v1/chat/completions",
            body: chatRequest(model, lastSent(conversations[model]?.messages ?? []), settings),
          }))}
          onClose={code.close}
        />
      )}
    </div>
  );
}

const storable = (conversations: ReturnType<typeof useConversations>["conversations"]) =>
  Object.fromEntries(Object.entries(conversations).map(([model, { messages, spent }]) => [model, { messages, spent }]));

/** Hints about the selected models: no chat support, not in the catalog, or a special input format. */
function Hints({ names, list }: { names: readonly string[]; list: readonly Model[] | undefined }) {
  if (!list) return null;
  return names.map((name) => {
    const found = list.find((model) => model.name === name);
    const problem =
      chatProblem(name, list) ??
      (found
        ? undefined
        : `${name} is not in the list of models: calls work only if it is an alias or matches a wildcard of this gateway.`);
    const hint = problem ?? (found && inputHint(found));
    if (hint === undefined) return null;
    return (
      <Alert key={name} color={problem ? "yellow" : "blue"} variant="light" title={problem ? undefined : name}>
        {hint}
      </Alert>
    );
  });
}
