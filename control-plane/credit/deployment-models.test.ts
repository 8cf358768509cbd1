import { silentLogger } from "../../common/logger.ts";
import { DeploymentModels } from "./deployment-models.ts";

function open(read: () => Promise<{ id: string; modelName: string }[]>) {
  const state = { now: 0, reads: 0 };
  const counted = () => {
    state.reads++;
    return read();
  };
  return { state, models: new DeploymentModels({ clock: { monotonicMs: () => state.now }, logger: silentLogger, read: counted }) };
}

test("deployments are read once for all calls of half a minute, and then as they are now", async () => {
  let modelName = "openai/*";
  const { state, models } = open(async () => [{ id: "dep_1", modelName }]);
  expect(await Promise.all(["dep_1", "dep_1", "dep_2"].map((id) => models.modelOf(id)))).toEqual(["openai/*", "openai/*", undefined]);
  modelName = "gpt";
  expect(await models.modelOf("dep_1")).toBe("openai/*");
  state.now = 30_000;
  expect(await models.modelOf("dep_1")).toBe("gpt");
  expect(state.reads).toBe(2);
});

test("a store that cannot be read leaves the name unknown and fails no settlement", async () => {
  const { models } = open(() => Promise.reject(new Error("no store")));
  expect(await models.modelOf("dep_1")).toBeUndefined();
});
