import { Alert, Button, Group, SimpleGrid, Text } from "@mantine/core";
import { IconCode, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { teamsQuery } from "../api/queries.ts";
import type { Model } from "../api/types.ts";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { usdOf } from "../format/money.ts";
import { allModelsQuery } from "./hub/all-models.ts";
import { chatRequest, lastSent, NO_SETTINGS, readMore, userMessage } from "./playground/chat-request.ts";
import { chatProblem, inputHint, namedModels, playgroundModels } from "./playground/choose-models.ts";
import { ConversationColumn } from "./playground/conversation-column.tsx";
import { MessageInput } from "./playground/message-input.tsx";
import { SettingsCard } from "./playground/settings-card.tsx";
import { ShowCode } from "./playground/show-code.tsx";
import { useConversations } from "./playground/use-conversations.ts";
import { usePlaygroundKey } from "./playground/use-playground-key.ts";

export function Screen() {
  const [address, setAddress] = useAddress();
  const queryClient = useQueryClient();
  const { data: list, error } = useQuery(allModelsQuery);
  const { data: teams } = useQuery(teamsQuery());
  const [settings, setSettings] = useState(NO_SETTINGS);
  const [secret, setSecret] = useState("");
  const [isCodeOpen, setCodeOpen] = useState(false);
  const { conversations, ask, stop, clear } = useConversations();
  const keyOf = usePlaygroundKey();
  const known = playgroundModels(list ?? []);
  const named = namedModels(address);
  const models = named.length > 0 ? named.filter((name) => chatProblem(name, list ?? []) === undefined) : known.slice(0, 1);
  const team = address.team === undefined ? teams?.data[0]?.id : String(address.team);
  const shown = Object.values(conversations);
  const isBusy = shown.some((conversation) => conversation.isBusy);
  const costNano = shown.flatMap(({ spent }) => spent).reduce((sum, spent) => sum + spent.costNano, 0);
  const send = async (text: string, images: readonly string[]) => {
    // All columns share one key, because they send at the same time.
    const paying = secret === "" ? keyOf(team ?? "") : Promise.resolve(secret);
    await ask(userMessage(text, images), { models, settings, secretOf: () => paying });
    await queryClient.invalidateQueries({ queryKey: ["quota"] });
  };
  return (
    <Page
      title="Playground"
      about="Send a prompt to one or more models. Calls are billed to your credits."
      action={
        <Group gap="xs">
          <Button variant="default" leftSection={<IconCode size={16} aria-hidden />} onClick={() => setCodeOpen(true)}>
            Show code
          </Button>
          <Button
            variant="default"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={clear}
            disabled={shown.length === 0 || isBusy}
          >
            Clear
          </Button>
        </Group>
      }
    >
      <Failure error={error} />
      <SettingsCard
        {...{ models, team, secret, settings, known }}
        onModels={(next) => setAddress({ models: next.join(","), model: undefined })}
        onTeam={(next) => setAddress({ team: next })}
        onSecret={setSecret}
        onSettings={setSettings}
      />
      <Hints names={named.length > 0 ? named : models} list={list} />
      <SimpleGrid cols={{ base: 1, md: Math.min(2, Math.max(1, models.length)) }}>
        {models.map((model) => (
          <ConversationColumn key={model} model={model} conversation={conversations[model]} />
        ))}
      </SimpleGrid>
      <MessageInput
        isBusy={isBusy}
        canSend={models.length > 0 && (secret !== "" || team !== undefined) && readMore(settings.more).problem === undefined}
        onSend={(text, images) => void send(text, images)}
        onStop={stop}
      />
      <Text size="sm" role="status">
        Total cost: <Usd amount={usdOf(costNano)} fw={600} />
      </Text>
      {isCodeOpen && (
        <ShowCode
          bodies={models.map((model) => ({ model, body: chatRequest(model, lastSent(conversations[model]?.messages ?? []), settings) }))}
          onClose={() => setCodeOpen(false)}
        />
      )}
    </Page>
  );
}

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
