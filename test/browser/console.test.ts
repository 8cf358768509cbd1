import { budgetTests } from "./budget.ts";
import { openConsole } from "./console.ts";
import { failingTests } from "./failing.ts";
import { hostileTests } from "./hostile.ts";
import { nodeLinkTests } from "./node-link.ts";
import { screenTests } from "./screens.ts";

const { stage } = openConsole();

hostileTests(stage);
nodeLinkTests(stage);
failingTests(stage);
budgetTests(stage);
screenTests(stage);
