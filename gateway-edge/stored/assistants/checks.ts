import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { admit } from "../../calls/inference/admit.ts";
import { type ModelDirectory, mayUseModel } from "../../calls/inference/model-access.ts";
import type { AssistantTool, ToolResources } from "../../schemas/stored/assistants.ts";
import type { NewMessage } from "../../schemas/stored/threads.ts";
import type { TeamFiles } from "./team-files.ts";

/** Whether a caller may use a model, as for a chat call: unknown is a 404, not allowed a 403. */
export function requireModel(caller: Caller, model: string, routing: ModelDirectory): void {
  admit({
    caller,
    model,
    alternatives: [],
    exists: (name) => routing.groupOf(name, caller) !== undefined,
    mayUse: (name) => mayUseModel(caller, name, routing),
  });
}

/** What the gateway cannot carry out is refused where it is asked for, not when a run needs it. */
export function requireTools(tools: readonly AssistantTool[] | null | undefined): void {
  const place = (tools ?? []).findIndex(({ type }) => type === "code_interpreter");
  if (place >= 0) throw unsupported("The tool code_interpreter is not offered by this gateway.", `tools[${place}].type`);
}

export function requireToolResources(resources: ToolResources | null | undefined): void {
  if ((resources?.code_interpreter?.file_ids ?? []).length > 0) {
    throw unsupported("The tool code_interpreter is not offered by this gateway.", "tool_resources.code_interpreter");
  }
  const { vector_store_ids: storeIds, vector_stores: stores } = resources?.file_search ?? {};
  if ((storeIds ?? []).length > 0 || (stores ?? []).length > 0) {
    throw unsupported(
      "Vector stores are not offered by this gateway; attach files to messages with the tool file_search.",
      "tool_resources.file_search",
    );
  }
}

/** The files that messages name must be the team's; `at` says where the messages stand in the request. */
export async function requireFiles(
  messages: readonly NewMessage[],
  { files, at }: { files: TeamFiles; at: string | undefined },
): Promise<void> {
  for (const [place, message] of messages.entries()) {
    const prefix = at === undefined ? "" : `${at}[${place}].`;
    for (const { fileId, param } of filesOf(message)) await requireFile(fileId, files, prefix + param);
  }
}

function filesOf({ content, attachments }: NewMessage): { fileId: string; param: string }[] {
  const attached = (attachments ?? []).map(({ file_id: fileId, tools }, index) => {
    const isForCode = tools?.some(({ type }) => type === "code_interpreter");
    if (isForCode) throw unsupported("The tool code_interpreter is not offered by this gateway.", `attachments[${index}].tools`);
    return { fileId, param: `attachments[${index}].file_id` };
  });
  const parts = typeof content === "string" ? [] : content;
  const images = parts.map((part, index) => ({ part, param: `content[${index}].image_file.file_id` }));
  return [
    ...attached,
    ...images.flatMap(({ part, param }) => (part.type === "image_file" ? [{ fileId: part.image_file.file_id, param }] : [])),
  ];
}

async function requireFile(fileId: string, files: TeamFiles, param: string): Promise<void> {
  if (!(await files.exists(fileId))) throw new AppError("NOT_FOUND", `No file found with id '${fileId}'.`, { param });
}

function unsupported(message: string, param: string): AppError {
  return new AppError("UNSUPPORTED_PARAMETER", message, { param });
}
