import { epsilonAfter } from "../../common/training/privacy-account.ts";
import { model, openRunFixture, type RunFixture } from "./run-fixture.ts";

let fixture: RunFixture;
beforeAll(() => {
  fixture = openRunFixture();
});
afterAll(() => fixture.close());

const dp = { mode: "local", clipNorm: 1, noiseMultiplier: 2, delta: 1e-5 } as const;
const run = (epsilonBudget: number) =>
  fixture.run({ dp: { ...dp, epsilonBudget }, rounds: 3 }, { train: () => ({ model: model(1, 2), samples: 5 }) }, { spentRounds: 2 });

test("abandoned rounds whose noised updates had arrived count in the epsilon of later ones and in the budget", async () => {
  const { problem, rounds } = await run(epsilonAfter(dp, 4));
  expect(rounds.map(({ epsilon }) => epsilon)).toEqual([epsilonAfter(dp, 3), epsilonAfter(dp, 4)]);
  expect(problem).toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringContaining(epsilonAfter(dp, 5).toFixed(3)) });
});
