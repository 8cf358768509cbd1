import type { Clock } from "../../../../common/clock.ts";
import { newId } from "../../../../common/ids.ts";
import type { Random } from "../../../../common/random.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { deletedObject, listOf } from "../../../schemas/stored/assistant-answers.ts";
import {
  newPrompt,
  newPromptVersion,
  type PromptObject,
  type PromptVersionObject,
  promptChange,
  promptObject,
  promptVersionObject,
} from "../../../schemas/stored/prompts.ts";
import { requirePrompt, requirePromptVersion, versionWrite } from "../../../stored/prompts/prompt-records.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import type { RecordStore } from "../../../stored/records/records.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";

export interface PromptsDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly bodyBytesMax: number;
  readonly once: AnswerOnce;
}

/** Prompt templates of a team with versions, for `prompt` in /v1/responses and /v1/chat/completions. */
export function promptsOperations(deps: PromptsDeps): GatewayOperation[] {
  return [...promptOperations(deps), ...versionOperations(deps)];
}

/** The operations for /openapi.json and /docs; their handlers are not called. */
export function describePrompts(): OperationDescription[] {
  return describeGatewayOperations(promptsOperations({ bodyBytesMax: 0 } as PromptsDeps));
}

function promptOperations(deps: PromptsDeps): GatewayOperation[] {
  const { records, clock, bodyBytesMax, once } = deps;
  const shared = { tag: "Prompts", bodyBytesMax, once };
  const all = { ...shared, paths: twice("prompts") };
  const one = { ...shared, paths: twice("prompts/:prompt_id") };
  return [
    jsonOperation({
      ...all,
      method: "post",
      summary: "Create a prompt with its first version",
      body: newPrompt,
      answer: promptObject,
      handle: async ({ body, caller }) => {
        const [id, nowMs] = [newId("pmpt", deps), clock.now()];
        const { name = null, metadata } = body;
        const prompt: PromptObject = {
          ...{ id, object: "prompt", created_at: Math.floor(nowMs / 1000), name, metadata: metadata ?? {} },
          ...{ version: "1", latest_version: "1" },
        };
        const { write } = versionWrite(id, { template: body.template, number: 1, nowMs });
        await records.commit(ownerOf(caller), [{ type: "create", kind: "prompt", id, body: prompt, createdAtMs: nowMs }, write]);
        return prompt;
      },
    }),
    jsonOperation({
      ...all,
      method: "get",
      summary: "List prompts",
      query: listQuery,
      answer: listOf(promptObject),
      handle: async ({ query, caller }) => {
        const page = await records.list<PromptObject>(caller.teamId, "prompt", readPage(query));
        const prompts = page.records.map(({ body }) => body);
        return listAnswer(prompts, page.hasMore);
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a prompt",
      answer: promptObject,
      handle: async ({ param, caller }) => (await requirePrompt(deps, caller, param("prompt_id"))).body,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify a prompt, or choose its current version",
      body: promptChange,
      keepNulls: true,
      answer: promptObject,
      handle: async ({ body, param, caller }) => {
        const id = param("prompt_id");
        const { name, metadata, version } = body;
        if (version !== undefined) await requirePromptVersion(deps, caller, { id, version });
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const prompt = await requirePrompt(deps, caller, id);
          const changed: PromptObject = {
            ...prompt.body,
            ...(name === undefined ? {} : { name }),
            ...(metadata === undefined ? {} : { metadata: metadata ?? {} }),
            ...(version === undefined ? {} : { version }),
          };
          return { writes: [{ type: "put", kind: "prompt", id, body: changed, expectedRevision: prompt.revision }], result: changed };
        });
        return result;
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete a prompt with all its versions",
      answer: deletedObject("prompt.deleted"),
      handle: async ({ param, caller }) => {
        const { id } = await requirePrompt(deps, caller, param("prompt_id"));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "prompt", id, withChildren: true }]);
        return { id, object: "prompt.deleted", deleted: true };
      },
    }),
  ];
}

function versionOperations(deps: PromptsDeps): GatewayOperation[] {
  const { records, clock, bodyBytesMax, once } = deps;
  const shared = { tag: "Prompts", bodyBytesMax, once };
  const versions = { ...shared, paths: twice("prompts/:prompt_id/versions") };
  return [
    jsonOperation({
      ...versions,
      method: "post",
      summary: "Add a version to a prompt; it becomes the current one unless `current` is false",
      body: newPromptVersion,
      answer: promptVersionObject,
      handle: async ({ body, param, caller }) => {
        const id = param("prompt_id");
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const prompt = await requirePrompt(deps, caller, id);
          const number = Number(prompt.body.latest_version) + 1;
          const made = versionWrite(id, { template: body.template, number, nowMs: clock.now() });
          const version = body.current === false ? prompt.body.version : String(number);
          const changed: PromptObject = { ...prompt.body, version, latest_version: String(number) };
          const put = { type: "put", kind: "prompt", id, body: changed, expectedRevision: prompt.revision } as const;
          return { writes: [put, made.write], result: made.body };
        });
        return result;
      },
    }),
    jsonOperation({
      ...versions,
      method: "get",
      summary: "List the versions of a prompt",
      query: listQuery,
      answer: listOf(promptVersionObject),
      handle: async ({ query, param, caller }) => {
        const { id: parentId } = await requirePrompt(deps, caller, param("prompt_id"));
        const page = await records.list<PromptVersionObject>(caller.teamId, "prompt_version", { ...readPage(query), parentId });
        const listed = page.records.map(({ body }) => body);
        return listAnswer(listed, page.hasMore);
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("prompts/:prompt_id/versions/:version"),
      summary: "Retrieve a version of a prompt",
      answer: promptVersionObject,
      handle: ({ param, caller }) => requirePromptVersion(deps, caller, { id: param("prompt_id"), version: param("version") }),
    }),
  ];
}
