import { chartTests } from "./charts.ts";
import { openConsole } from "./console.ts";
import { liveLaneTests } from "./live-lanes.ts";
import { operateTests } from "./operate.ts";
import { organizationTests } from "./organization.ts";
import { teamTests } from "./teams.ts";
import { trainedTests } from "./trained.ts";

const { stage } = openConsole();

teamTests(stage);
chartTests(stage);
trainedTests(stage);
liveLaneTests(stage);
operateTests(stage);
organizationTests(stage);
