import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { admit } from "../../calls/inference/admit.ts";
import { type ModelDirectory, mayUseModel } from "../../calls/inference/model-access.ts";
import type { AssistantTool } from "../../schemas/stored/assistants.ts";
import type { NewMessage } from "../../schemas/stored/threads.ts";
import type { TeamFiles } from "../files/team-files.ts";

/** Checks that a caller may use a model, as for a chat call: throws 404 for an unknown model and 403 for one that is not allowed. */
export function requireModel(caller: Caller, model: string, routing: ModelDirectory): void {
  admit({
    caller,
    model,
    alternatives: [],
    exists: (name) => routing.groupOf(name, caller) !== undefined,
    mayUse: (name) => mayUseModel(caller, name, routing),
  });
}

/** Tools that the gateway cannot execute are refused when they are configured, not when a run needs them. */
export function requireTools(tools: readonly AssistantTool[] | null | undefined): void {
  const place = (tools ?? []).findIndex(({ type }) => type === "code_interpreter");
  if (place >= 0) throw unsupported("This gateway does not support the tool code_interpreter.", `tools[${place}].type`);
}

/** The files of messages must belong to the team. `at` is the messages' path in the request, for the error's `param`. */
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
    if (isForCode) throw unsupported("This gateway does not support the tool code_interpreter.", `attachments[${index}].tools`);
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
