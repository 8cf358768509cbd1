import { openConsole } from "./console.ts";
import { exploreTests } from "./explore.ts";
import { lifeTests } from "./life.ts";
import { replayedTests } from "./replayed.ts";
import { secondFactorTests } from "./second-factor.ts";
import { secretTests } from "./secrets.ts";
import { signInTests } from "./sign-in.ts";

const { stage, issuer } = openConsole();

lifeTests(stage);
signInTests(stage, issuer);
secretTests(stage);
secondFactorTests(stage);
exploreTests(stage);
replayedTests(stage);
