import { AppError } from "../../../common/errors.ts";
import { RUN_STATES } from "../../schemas/stored/assistant-answers.ts";
import { assistantOf, newRunBody, runOf } from "./objects.ts";
import { type Ending, ended, isEnded, lastErrorOf, moved } from "./run-states.ts";

const stamp = { id: "x_1", nowMs: 1_000_000 };
const run = runOf(stamp, { assistant_id: "asst_1" }, assistantOf(stamp, { model: "m" }), "thread_1");

test("a run that has ended goes nowhere any more, and every other state can end", () => {
  const over = RUN_STATES.filter(isEnded);
  expect(over).toEqual(["cancelled", "failed", "completed", "incomplete", "expired"]);
  for (const from of over) for (const to of RUN_STATES) expect(() => moved({ ...run, status: from }, to)).toThrow("cannot go");
  for (const from of RUN_STATES.filter((state) => !isEnded(state))) expect(moved({ ...run, status: from }, "failed").status).toBe("failed");
  expect(() => moved({ ...run, status: "cancelling" }, "completed")).toThrow("cannot go");
});

test("an ending sets its own time and reason, shows the usage, and lets the turns go", () => {
  const body = { ...newRunBody({ ...run, status: "in_progress" as const }), turns: [{ role: "user" }], used: { prompt: 3, completion: 4 } };
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const cases: [Ending, object][] = [
    [{ status: "completed" }, { completed_at: 2_000, last_error: null }],
    [{ status: "cancelled" }, { cancelled_at: 2_000, completed_at: null }],
    [{ status: "expired" }, { cancelled_at: null, failed_at: null }],
    [{ status: "incomplete", reason: "max_prompt_tokens" }, { incomplete_details: { reason: "max_prompt_tokens" } }],
    [
      { status: "failed", error: { code: "server_error", message: "x" } },
      { failed_at: 2_000, last_error: { code: "server_error", message: "x" } },
    ],
  ];
  for (const [ending, fields] of cases) {
    const over = ended(body, ending, 2_000_000);
    expect(over.run).toMatchObject({ status: ending.status, usage, expires_at: null, required_action: null, ...fields });
    expect(over.turns).toEqual([]);
  }
});

test("every error is one of three words", () => {
  const word = (code: ConstructorParameters<typeof AppError>[0]) => lastErrorOf(new AppError(code, "m")).code;
  expect(["RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED"].map((code) => word(code as "QUOTA_EXCEEDED"))).toEqual(
    Array(2).fill("rate_limit_exceeded"),
  );
  expect([word("CONTEXT_LENGTH_EXCEEDED"), word("CONTENT_POLICY_VIOLATION"), word("UNPROCESSABLE")]).toEqual(
    Array(3).fill("invalid_prompt"),
  );
  expect([word("UPSTREAM_UNAVAILABLE"), word("TEAM_BLOCKED"), word("SERVER_ERROR")]).toEqual(Array(3).fill("server_error"));
});
