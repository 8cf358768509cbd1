import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Issuer, planIssuer, startIssuer } from "../helpers/oidc.ts";
import { budgetTests } from "./budget.ts";
import { chartTests } from "./charts.ts";
import { exploreTests } from "./explore.ts";
import { failingTests } from "./failing.ts";
import { gatewayConfig } from "./furnish.ts";
import { hostileTests } from "./hostile.ts";
import { lifeTests } from "./life.ts";
import { liveLaneTests } from "./live-lanes.ts";
import { nodeLinkTests } from "./node-link.ts";
import { operateTests } from "./operate.ts";
import { organizationTests } from "./organization.ts";
import { paceSeconds } from "./pace.ts";
import { replayedTests } from "./replayed.ts";
import { screenTests } from "./screens.ts";
import { secondFactorTests } from "./second-factor.ts";
import { secretTests } from "./secrets.ts";
import { signInTests } from "./sign-in.ts";
import { openStage, type Stage } from "./stage.ts";
import { teamTests } from "./teams.ts";
import { trainedTests } from "./trained.ts";

// Real screens in a real browser over a real system; one of each for all of it, for they take longest to start.

const TEST_MS_MAX = 120_000;
/** More actions than any test has. */
const ACTIONS_MAX = 120;
const pace = paceSeconds(0);
jest.setTimeout(TEST_MS_MAX + ACTIONS_MAX * pace * 1000);

let opened: Stage | undefined;
let issuer: Issuer | undefined;
let folder = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-browser-"));
  const plan = await planIssuer();
  const env = { CONFIG: gatewayConfig(folder), ...plan.env };
  opened = await openStage({ trainer: true, coordinator: true, env }, { paceSeconds: pace });
  issuer = await startIssuer(plan, opened.system);
});

afterAll(async () => {
  await issuer?.stop();
  await opened?.stop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => stage().begin());
afterEach(() => stage().end());

function stage(): Stage {
  if (!opened) throw new Error("the stage did not open");
  return opened;
}

function started(): Issuer {
  if (!issuer) throw new Error("the issuer did not start");
  return issuer;
}

lifeTests(stage);
signInTests(stage, started);
secretTests(stage);
secondFactorTests(stage);
exploreTests(stage);
replayedTests(stage);
teamTests(stage);
chartTests(stage);
trainedTests(stage);
liveLaneTests(stage);
operateTests(stage);
organizationTests(stage);
hostileTests(stage);
nodeLinkTests(stage);
failingTests(stage);
budgetTests(stage);
screenTests(stage);
