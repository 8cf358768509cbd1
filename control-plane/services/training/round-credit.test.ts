import { setImmediate } from "node:timers/promises";
import { asAppError } from "../../../common/errors.ts";
import { organizationAccount } from "../../domain/ledger.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Store } from "../../stores/store.ts";
import { post } from "../../writes/ledger.ts";
import { openPlatform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

test("credit that a round takes is not reserved for a call while the round is being written", async () => {
  const platform = await openPlatform();
  const { deps, team, organization } = platform;
  const { store } = deps;
  const { id: organizationId } = organization;
  const account = organizationAccount(organizationId);
  await store.transaction(organizationScope(store, organizationId), (tx) =>
    post(tx, { type: "purchase", organizationId, from: "purchases", to: account, amount: 1000n, reference: "p" }, 1),
  );
  // All that there is.
  const budget = (await store.get("accounts", account))?.balance ?? 0n;
  const reserve = () => {
    const call = { callId: "call_1", keyId: "key_1", teamId: team.id, organizationId, model: "m", worstCase: budget, tokens: 1 };
    return deps.reservations.reserve(call).then(
      ({ reserved }) => String(reserved),
      (thrown: unknown) => asAppError(thrown).code,
    );
  };
  const meanwhile: Promise<string>[] = [];
  // The round's entry is in the transaction, and not yet in the store; a call that asks then has time for its answer.
  const transaction: Store["transaction"] = (scopes, work) =>
    store.transaction(scopes, async (tx) => {
      const result = await work(tx);
      const asked = reserve();
      meanwhile.push(asked);
      await Promise.race([asked, turnsOfTheLoop(50)]);
      return result;
    });
  const slow = {
    ...deps,
    store: new Proxy(store, { get: (target, name) => (name === "transaction" ? transaction : bound(target, name)) }),
  };
  const participants = [{ url: "", join: true, dataset: "" }];
  const request = { name: "f", teamId: team.id, settings: JSON.stringify({ rounds: 1, task: {} }), participants, budgetNanoUsd: budget };
  const handlers = trainingHandlers(deps);
  const { federation } = await handlers.createFederation({ ...request, initialBlob: undefined }, platform.as("owner"));
  await handlers.claimFederations({ claim: "a", leaseMs: 60_000n, limit: 1, except: [], address: "" }, platform.as("anonymous"));
  const opening = { federationId: federation?.id ?? "", claim: "a", participantIds: ["p1"] };
  await trainingHandlers(slow).openRound(opening, platform.as("anonymous"));
  expect(await Promise.all(meanwhile)).toEqual(["QUOTA_EXCEEDED"]);
  expect(await reserve()).toBe("QUOTA_EXCEEDED");
  const { federation: poor } = await handlers.createFederation({ ...request, initialBlob: undefined }, platform.as("owner"));
  await handlers.claimFederations({ claim: "b", leaseMs: 60_000n, limit: 1, except: [], address: "" }, platform.as("anonymous"));
  const lacking = handlers.openRound({ ...opening, federationId: poor?.id ?? "", claim: "b" }, platform.as("anonymous"));
  await expect(lacking).rejects.toThrow(/Buy credits; .* \(extend\)\.$/);
  await platform.close();
});

async function turnsOfTheLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}

function bound(target: Store, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === "function" ? value.bind(target) : value;
}
