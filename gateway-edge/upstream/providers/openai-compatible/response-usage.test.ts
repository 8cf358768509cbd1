import type { Fields } from "../provider.ts";
import { readResponseUsage, StreamedFees } from "./response-usage.ts";

const shellCall = (container_id: string) => ({ type: "shell_call", environment: { type: "container_reference", container_id } });
const CALLS = [shellCall("cntr_1"), shellCall("cntr_1"), shellCall("cntr_2")];
const SESSIONS = (count: number) => ({ codeSession: { input: count, output: 0 } });
const usage = { input_tokens: 10, output_tokens: 2 };

test.each([
  ["containers that OpenAI creates", { type: "shell", environment: { type: "container_auto" } }, SESSIONS(2)],
  [
    "a container that the request names",
    { type: "shell", environment: { type: "container_reference", container_id: "cntr_1" } },
    SESSIONS(1),
  ],
])("the shell's sessions are counted by its containers, whole and streamed: %s", (_what, tool: Fields, expected) => {
  expect(readResponseUsage({ usage, output: CALLS, tools: [tool] })?.amounts).toEqual(expected);
  const streamed = new StreamedFees();
  streamed.take("response.created", { response: { tools: [tool] } });
  const amounts = CALLS.map((item) => streamed.take("response.output_item.done", { item }));
  expect(amounts.at(-1)).toEqual(expected);
});

test("a session whose container has no name is billed, also beside tools that name none", () => {
  const output = [{ type: "shell_call", environment: { type: "container_auto" } }];
  expect(readResponseUsage({ usage, output, tools: [{ type: "web_search" }] })?.amounts).toEqual(SESSIONS(1));
});
