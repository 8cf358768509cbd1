import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import { listOf, type StepObject, stepObject } from "../../../schemas/stored/assistant-answers.ts";
import { requireRun } from "../../../stored/assistants/run-actions.ts";
import { requireRecord } from "../../../stored/records/own-record.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import type { AssistantsDeps } from "./assistants-deps.ts";

export function runStepOperations(deps: AssistantsDeps): GatewayOperation[] {
  const shared = { tag: "Runs", bodyBytesMax: deps.bodyBytesMax, method: "get" } as const;
  const placeOf = (param: (name: string) => string) => ({ threadId: param("thread_id"), runId: param("run_id") });
  return [
    jsonOperation({
      ...shared,
      paths: twice("threads/:thread_id/runs/:run_id/steps"),
      summary: "List the steps of a run",
      query: listQuery,
      answer: listOf(stepObject),
      handle: async ({ query, param, caller }) => {
        const run = await requireRun(deps, caller, placeOf(param));
        const page = await deps.records.list<StepObject>(caller.teamId, "run_step", { ...readPage(query), parentId: run.id });
        return listAnswer(
          page.records.map(({ body }) => body),
          page.hasMore,
        );
      },
    }),
    jsonOperation({
      ...shared,
      paths: twice("threads/:thread_id/runs/:run_id/steps/:step_id"),
      summary: "Retrieve a step of a run",
      answer: stepObject,
      handle: async ({ param, caller }) => {
        const run = await requireRun(deps, caller, placeOf(param));
        const place = { kind: "run_step", id: param("step_id"), parentId: run.id } as const;
        return (await requireRecord<StepObject>(deps, caller, place)).body;
      },
    }),
  ];
}
