import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { PromptObject, PromptTemplate, PromptVersionObject } from "../../schemas/stored/prompts.ts";
import type { RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import { variablesOf } from "./variables.ts";

type Reader = { readonly records: Pick<RecordStore, "get"> };

const VERSIONS_MAX = 1000;
const TEMPLATE_BYTES_MAX = 256 * 1024;

export async function requirePrompt({ records }: Reader, { teamId }: Caller, id: string): Promise<RecordOf<PromptObject>> {
  const record = await records.get<PromptObject>(teamId, "prompt", id);
  if (!record) throw new AppError("NOT_FOUND", `No prompt found with id '${id.slice(0, 200)}'.`, { param: "prompt.id" });
  return record;
}

/** The named version, or the current one. */
export async function requirePromptVersion(
  deps: Reader,
  caller: Caller,
  { id, version }: { id: string; version: string | undefined },
): Promise<PromptVersionObject> {
  const wanted = version ?? (await requirePrompt(deps, caller, id)).body.version;
  const record = await deps.records.get<PromptVersionObject>(caller.teamId, "prompt_version", versionId(id, wanted));
  if (record) return record.body;
  const message = `The prompt '${id.slice(0, 200)}' does not exist, or has no version '${wanted.slice(0, 16)}'.`;
  throw new AppError("NOT_FOUND", message, { param: "prompt.version" });
}

/** The write of a version. Versions never change. */
export function versionWrite(promptId: string, { template, number, nowMs }: { template: PromptTemplate; number: number; nowMs: number }) {
  if (number > VERSIONS_MAX) {
    throw new AppError("INVALID_REQUEST", `A prompt has at most ${VERSIONS_MAX} versions. Create another prompt.`);
  }
  if (Buffer.byteLength(JSON.stringify(template)) > TEMPLATE_BYTES_MAX) {
    throw new AppError("INVALID_REQUEST", `template: must have at most ${TEMPLATE_BYTES_MAX} bytes.`, { param: "template" });
  }
  const id = versionId(promptId, String(number));
  const body: PromptVersionObject = {
    ...{ id, object: "prompt.version", prompt_id: promptId, version: String(number), created_at: Math.floor(nowMs / 1000) },
    ...{ variables: variablesOf(template), template },
  };
  const write: RecordWrite = { type: "create", kind: "prompt_version", id, parentId: promptId, body, createdAtMs: nowMs };
  return { body, write };
}

function versionId(promptId: string, version: string): string {
  return `${promptId}.${version}`;
}
