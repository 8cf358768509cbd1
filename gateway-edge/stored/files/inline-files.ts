import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ChatRequest } from "../../schemas/calls/chat.ts";
import type { FileObject } from "../../schemas/stored/files.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields, asText } from "../../upstream/providers/shared/json-fields.ts";
import type { RecordStore } from "../records/records.ts";
import { isText, mediaTypeOf } from "./media-type.ts";

export interface InlineDeps {
  readonly records: Pick<RecordStore, "get" | "getContent">;
  /** The limit of a request's body: files count as if they were part of it. */
  readonly bodyBytesMax: number;
}

/** A part of a request that names a file of this gateway in place of its data. */
interface NamingPart {
  readonly part: Fields;
  readonly fileId: string;
  readonly param: string;
  /** The same part with the file's data. */
  readonly inlined: (file: TeamFile, param: string) => Fields;
}

interface TeamFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Ids that the gateway gives: those of providers are shorter, and pass to servers that know them. */
const OWN_ID = /^file-[0-9a-hjkmnp-tv-z]{33}$/;

/** Whether messages name files of this gateway. Cheap for those without lists of parts, which are most. */
export function namesFiles(messages: readonly unknown[]): boolean {
  return messages.some((message) => Array.isArray(asFields(message)["content"]) && namingParts(message, "").length > 0);
}

/** A chat with the data of the files that it names. */
export async function chatWithFiles(deps: InlineDeps, caller: Caller, chat: ChatRequest): Promise<ChatRequest> {
  return { ...chat, messages: await withFiles(deps, caller, chat.messages, (index) => `messages[${index}]`) };
}

/**
 * Messages or items of a request, in any of its dialects, with the data of the team's files in place of their ids: providers do not know these
 * ids, and what a provider reads is counted and reserved as data of the request is. Throws NOT_FOUND for a file of another team, and
 * PAYLOAD_TOO_LARGE if the files would not fit into a request. `at` is the path of each in the request, for the error's `param`.
 */
export async function withFiles<Value extends readonly unknown[]>(
  deps: InlineDeps,
  caller: Pick<Caller, "teamId">,
  messages: Value,
  at: (index: number) => string,
): Promise<Value> {
  const naming = messages.flatMap((message, index) => namingParts(message, at(index)));
  if (naming.length === 0) return messages;
  const found = await Promise.all(naming.map(({ fileId, param }) => requireFile(deps, caller, fileId, param)));
  requireRoom(deps, naming, found);
  const files = new Map<string, TeamFile>();
  for (const { fileId, param } of naming) {
    if (!files.has(fileId)) files.set(fileId, await readFile(deps, caller, { fileId, param, found }));
  }
  const inlined = new Map<unknown, Fields>();
  for (const { part, fileId, param, inlined: inline } of naming) inlined.set(part, inline(files.get(fileId) as TeamFile, param));
  // Safe: only parts are replaced, by parts.
  return messages.map((message) => replaced(message, inlined)) as unknown as Value;
}

function namingParts(value: unknown, at: string): NamingPart[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => namingParts(item, `${at}[${index}]`));
  if (typeof value !== "object" || value === null) return [];
  const part = value as Fields;
  const own = namingPart(part, at);
  if (own) return [own];
  // Not the input of a tool's call, which may have any fields.
  return ["content", "output"].flatMap((name) => namingParts(part[name], `${at}.${name}`));
}

/** The part of each dialect: `file` of chat, `input_file` and `input_image` of responses, and blocks with a `source` of messages. */
function namingPart(part: Fields, at: string): NamingPart | undefined {
  const { type, file, source, file_id: id } = part;
  const naming = (fileId: unknown, param: string, inlined: NamingPart["inlined"]) =>
    typeof fileId === "string" && OWN_ID.test(fileId) ? { part, fileId, param: `${at}.${param}`, inlined } : undefined;
  if (type === "file" && file !== undefined) return naming(asFields(file)["file_id"], "file.file_id", (found) => chatPart(part, found));
  if (type === "input_file") return naming(id, "file_id", (found) => inputFile(part, found));
  if (type === "input_image") return naming(id, "file_id", (found, param) => inputImage(part, found, param));
  const { type: sourceType, file_id: sourceId } = asFields(source);
  return sourceType === "file" ? naming(sourceId, "source.file_id", (found, param) => sourceBlock(part, found, param)) : undefined;
}

/** Chat names images by their URL alone. */
function chatPart(part: Fields, file: TeamFile): Fields {
  if (isImage(file)) return { type: "image_url", image_url: { url: dataUrl(file) } };
  const { file_id: _, ...given } = asFields(part["file"]);
  return { ...part, file: { ...given, filename: asText(given["filename"]) ?? file.name, file_data: dataUrl(file) } };
}

function inputFile({ file_id: _, ...part }: Fields, file: TeamFile): Fields {
  return { ...part, filename: asText(part["filename"]) ?? file.name, file_data: dataUrl(file) };
}

function inputImage({ file_id: _, ...part }: Fields, file: TeamFile, param: string): Fields {
  requireImage(file, param);
  return { ...part, image_url: dataUrl(file) };
}

function sourceBlock(block: Fields, file: TeamFile, param: string): Fields {
  if (block["type"] === "image") {
    requireImage(file, param);
    return { ...block, source: base64Source(file) };
  }
  const isPlain = file.mediaType !== "application/pdf" && isText(file.bytes);
  const source = isPlain ? { type: "text", media_type: "text/plain", data: file.bytes.toString("utf8") } : base64Source(file);
  return { ...block, title: asText(block["title"]) ?? file.name, source };
}

const isImage = ({ mediaType }: TeamFile) => mediaType.startsWith("image/");

function requireImage(file: TeamFile, param: string): void {
  if (isImage(file)) return;
  throw new AppError("INVALID_REQUEST", `${param}: the file is not a PNG, JPEG, GIF or WebP image.`, { param });
}

function dataUrl({ mediaType, bytes }: TeamFile): string {
  return `data:${mediaType};base64,${bytes.toString("base64")}`;
}

function base64Source({ mediaType, bytes }: TeamFile): Fields {
  return { type: "base64", media_type: mediaType, data: bytes.toString("base64") };
}

async function requireFile({ records }: InlineDeps, { teamId }: Pick<Caller, "teamId">, id: string, param: string): Promise<FileObject> {
  const record = await records.get<FileObject>(teamId, "file", id);
  if (!record) throw new AppError("NOT_FOUND", `No file found with id '${id}'.`, { param });
  return record.body;
}

/** Before anything is read. A file that is named twice is sent twice. */
function requireRoom({ bodyBytesMax }: InlineDeps, naming: readonly NamingPart[], found: readonly FileObject[]): void {
  let size = 0;
  for (const [index, { bytes }] of found.entries()) {
    size += 4 * Math.ceil(bytes / 3);
    if (size <= bodyBytesMax) continue;
    const message = `The files of the request have ${size} bytes or more as base64; a request may have ${bodyBytesMax}.`;
    throw new AppError("PAYLOAD_TOO_LARGE", message, { param: naming[index]?.param });
  }
}

async function readFile(
  { records }: InlineDeps,
  { teamId }: Pick<Caller, "teamId">,
  { fileId, param, found }: { fileId: string; param: string; found: readonly FileObject[] },
): Promise<TeamFile> {
  const content = await records.getContent(teamId, fileId);
  if (!content) throw new AppError("NOT_FOUND", `The file ${fileId} has no content.`, { param });
  const bytes = Buffer.concat(await Array.fromAsync(content));
  const name = found.find(({ id }) => id === fileId)?.filename ?? fileId;
  return { name, bytes, mediaType: mediaTypeOf({ name, bytes }) };
}

function replaced(value: unknown, inlined: ReadonlyMap<unknown, Fields>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const part = inlined.get(value);
  if (part) return part;
  if (Array.isArray(value)) return value.map((item) => replaced(item, inlined));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, replaced(inner, inlined)]));
}
