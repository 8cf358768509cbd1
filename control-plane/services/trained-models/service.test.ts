import { NO_GATEWAY_CONFIG } from "../../gateway-config/gateway-config.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { trainedModelHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

/** Publishes where the configuration file has these models. */
function publish(who: Who, model: string, fileModels: readonly string[]) {
  const deployments = fileModels.map((modelName) => ({ id: modelName, modelName }));
  const gateway = { current: { ...NO_GATEWAY_CONFIG, deployments } as never, check: async () => {} };
  const request = { model, taskJson: '{"task":"softmax"}', blob: "a".repeat(64), lineageJson: "{}", allowedOrganizationIds: [] };
  const handlers = trainedModelHandlers({ ...platform.deps, gateway });
  return outcomeOf(handlers.publishVersion({ ...request, servingParticipantIds: [] }, platform.as(who)));
}

test.each([
  ["digits", ["gpt-4o", "openai/*"], "ok"],
  ["gpt-4o", ["gpt-4o"], "ALREADY_EXISTS"],
  ["openai/gpt-4o", ["openai/*"], "ALREADY_EXISTS"],
  // It stands for every name, and would leave none to publish under.
  ["digits", ["*"], "ok"],
])("a model is not published as %j where the file has %j, if the name is taken there", async (name, fileModels, outcome) => {
  expect(await publish("owner", name, fileModels)).toBe(outcome);
});
