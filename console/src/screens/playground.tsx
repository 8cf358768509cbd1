import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { meQuery, teamsQuery } from "../api/queries.ts";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { useAddress } from "../components/use-address.ts";
import { allModelsQuery } from "./hub/all-models.ts";
import { CallForm } from "./playground/call-form.tsx";
import { Chat } from "./playground/chat.tsx";
import { namedModels } from "./playground/choose-models.ts";
import { isCallKind, kindOf, modelsOf, OTHER_CALLS, offeredKinds } from "./playground/other-calls.ts";
import { usePlaygroundKey } from "./playground/use-playground-key.ts";

const CHAT = "chat";

export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: list, error } = useQuery(allModelsQuery);
  const { data: teams } = useQuery(teamsQuery());
  const { data: me } = useQuery(meQuery);
  const [secret, setSecret] = useState("");
  const keyOf = usePlaygroundKey();
  const [named] = namedModels(address);
  const kinds = offeredKinds(list ?? []);
  const wanted = String(address.kind ?? kindOf(named, list ?? []) ?? CHAT);
  const kind = isCallKind(wanted) && kinds.includes(wanted) ? wanted : CHAT;
  const team = address.team === undefined ? teams?.data[0]?.id : String(address.team);
  const secretOf = () => (secret === "" ? keyOf(team ?? "") : Promise.resolve(secret));
  const choices = [{ value: CHAT, label: "Chat" }, ...kinds.map((value) => ({ value, label: OTHER_CALLS[value].label }))];
  return (
    <Page
      title="Playground"
      about="Calls are billed to your credits."
      isTall={kind === CHAT}
      action={
        kinds.length > 0 && (
          <SegmentedControl
            aria-label="Kind of call"
            size="xs"
            data={choices}
            value={kind}
            onChange={(next) => setAddress({ kind: next, models: undefined, model: undefined })}
          />
        )
      }
    >
      <Failure error={error} />
      {kind === CHAT && me && (
        <Chat key={me.user.id} {...{ list, team, secret, secretOf }} owner={String(me.user.id)} onSecret={setSecret} />
      )}
      {kind !== CHAT && <CallForm key={kind} kind={kind} models={firstNamed(modelsOf(kind, list ?? []), named)} secretOf={secretOf} />}
    </Page>
  );
}

/** The model of the address first, so that it is the one that is chosen. */
const firstNamed = (models: readonly string[], named: string | undefined): string[] =>
  named !== undefined && models.includes(named) ? [named, ...models.filter((name) => name !== named)] : [...models];
