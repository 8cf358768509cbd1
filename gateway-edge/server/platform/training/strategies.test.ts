import { STRATEGIES } from "../../../../common/strategies/gen/strategies.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { listStrategiesAnswer } from "../../../schemas/platform/strategies.ts";
import type { OperationCall } from "../../middleware/operation.ts";
import { strategyOperations } from "./strategies.ts";

const createdAt = new Date(0);
const listStrategies = async () => ({
  strategies: [{ name: "mine", language: "python", source: "secret", sha256: "aa", createdBy: 1n, createdAt }],
});
const control = { training: { listStrategies } } as unknown as EdgeDeps["control"];
const listed = async (metadata: Record<string, string> = {}) => {
  const call = { read: () => ({ metadata }) } as unknown as OperationCall;
  return (await strategyOperations({ control })[0]?.handler({ body: undefined, query: undefined, params: undefined }, call)) as object;
};

test("a caller that is known sees the own strategies of its organization too, without their source", async () => {
  const { data } = listStrategiesAnswer.parse(await listed({ authorization: "Bearer x" }));
  expect(data).toHaveLength(STRATEGIES.length + 1);
  expect(data.at(-1)).toMatchObject({
    name: "mine",
    sees: "each",
    federations: true,
    own: { language: "python", sha256: "aa", createdAt },
  });
  expect(JSON.stringify(data)).not.toContain("secret");
});

test("the public list is the registry: every strategy with every setting, bound and default, and nothing that the schema lacks", async () => {
  const answer = await listed();
  const { data } = listStrategiesAnswer.parse(answer);
  expect(data).toEqual((answer as typeof answer & { data: unknown }).data);
  expect(data.map(({ name }) => name)).toEqual(STRATEGIES.map(({ name }) => name));
  expect(data.filter(({ federations, reason }) => !federations || reason !== null)).toEqual([]);
  for (const { name, settings } of STRATEGIES) {
    const shown = data.find((strategy) => strategy.name === name)?.settings ?? [];
    const expected = Object.entries(settings).map(([setting, rule]) => ({ required: false, ...rule, name: setting }));
    expect([name, shown]).toEqual([name, expected]);
  }
});
