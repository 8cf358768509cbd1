import { systemClock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import type { RunCall } from "../inference/run-call.ts";
import { createSchemaChecks } from "../schema-checks/schema-checks.ts";
import { checkedRun } from "./checked-run.ts";

const schemas = createSchemaChecks({ clock: systemClock, logger: silentLogger });

test.each([
  ["work:1", ["work:1", "work:1/again"]],
  [undefined, [undefined, undefined]],
])("the second call of work that is charged once (%s) is charged beside the first one", async (onceFor, expected) => {
  const asked: (string | undefined)[] = [];
  const run = (async (call: { onceFor?: string; signal: object }) => {
    asked.push(call.onceFor);
    if (asked.length === 1) throw new AppError("JSON_SCHEMA_VALIDATION", "not an integer");
    return { type: "answer", bill: { cost: 1n } };
  }) as unknown as RunCall;
  const checked = checkedRun({ clock: systemClock, random: systemRandom, schemas, checksAll: () => false }, run);
  const response_format = { type: "json_schema", json_schema: { strict: true, schema: { type: "object" } } };
  const job = { operation: "chat", stream: false, traits: () => ({ request: { response_format } }) };
  const caller = { organizationId: "org_1" };
  await checked({ callId: "call_1", onceFor, caller, signal: { aborted: false }, job } as unknown as Parameters<RunCall>[0]);
  expect(asked).toEqual(expected);
});
