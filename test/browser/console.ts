import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Issuer, planIssuer, startIssuer } from "../helpers/oidc.ts";
import { gatewayConfig } from "./furnish.ts";
import { paceSeconds } from "./pace.ts";
import { openStage, type Stage } from "./stage.ts";

const TEST_MS_MAX = 120_000;
/** More actions than any test has. */
const ACTIONS_MAX = 120;

export interface ConsoleUnderTest {
  readonly stage: () => Stage;
  readonly issuer: () => Issuer;
}

/** Real screens in a real browser over a real system; one of each for all tests of a file, because they take longest to start. */
export function openConsole(): ConsoleUnderTest {
  const pace = paceSeconds(0);
  jest.setTimeout(TEST_MS_MAX + ACTIONS_MAX * pace * 1000);
  let stage: Stage | undefined;
  let issuer: Issuer | undefined;
  let folder = "";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tributary-browser-"));
    const plan = await planIssuer();
    const env = { CONFIG: gatewayConfig(folder), ...plan.env };
    stage = await openStage({ trainer: true, coordinator: true, env }, { paceSeconds: pace });
    issuer = await startIssuer(plan, stage.system);
  });
  beforeEach(() => stage?.begin());
  afterEach(() => stage?.end());
  afterAll(async () => {
    await issuer?.stop();
    await stage?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const started = <T>(what: T | undefined, name: string): T => {
    if (what === undefined) throw new Error(`the ${name} did not start`);
    return what;
  };
  return { stage: () => started(stage, "stage"), issuer: () => started(issuer, "issuer") };
}
