import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { ignore } from "../../../../common/ignore.ts";
import type { Random } from "../../../../common/random.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { formObject } from "../../../schemas/calls/form-fields.ts";
import { listAnswer } from "../../../schemas/object-list.ts";
import { parseRequest } from "../../../schemas/request-body.ts";
import { deletedFile, type FileObject, fileForm, fileList, fileListQuery, fileObject } from "../../../schemas/stored/files.ts";
import { listFiles } from "../../../stored/files/list-files.ts";
import { fileWrite, newFileId } from "../../../stored/files/team-file.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import type { RecordStore } from "../../../stored/records/records.ts";
import type { FormFile } from "../../../upstream/providers/provider.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { readForm } from "../../uploads/read-form.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";
import { formDigest } from "../calls/form-call.ts";
import { CONFLICT, failure, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";

/** The dependencies of the Files API's operations. */
export interface FilesDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileBytesMax: number;
  readonly once: AnswerOnce;
}

const TAG = "Files";

/** The Files API: files that teams upload. */
export function filesOperations(deps: FilesDeps): GatewayOperation[] {
  const { records } = deps;
  // No operation here has a JSON body.
  const shared = { tag: TAG, bodyBytesMax: 0 };
  const named = (param: (name: string) => string) => ({ kind: "file", id: param("file_id") }) as const;
  return [
    { method: "post", paths: twice("files"), handler: uploadHandler(deps), description: UPLOAD },
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("files"),
      summary: "List files",
      query: fileListQuery,
      answer: fileList,
      handle: async ({ query, caller }) => {
        const { files, hasMore } = await listFiles(records, caller.teamId, query);
        return listAnswer(files, hasMore);
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("files/:file_id"),
      summary: "Retrieve a file",
      answer: fileObject,
      handle: async ({ param, caller }) => (await requireRecord<FileObject>({ records }, caller, named(param))).body,
    }),
    jsonOperation({
      ...shared,
      method: "delete",
      paths: twice("files/:file_id"),
      summary: "Delete a file",
      answer: deletedFile,
      handle: async ({ param, caller }) => {
        const { id } = await requireRecord({ records }, caller, named(param));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "file", id }]);
        return { id, object: "file", deleted: true };
      },
    }),
    { method: "get", paths: twice("files/:file_id/content"), handler: contentHandler(deps), description: CONTENT },
  ];
}

function uploadHandler(deps: FilesDeps): RequestHandler {
  return async (request, response) => {
    const form = readForm(request, { fileFields: ["file"], filesMax: 1, fileBytesMax: deps.fileBytesMax });
    try {
      await form.complete;
      const fields = parseRequest(fileForm, formObject(form.fields));
      const [file] = form.files;
      if (!file) throw new AppError("INVALID_REQUEST", "file: a file is required", { param: "file" });
      const work = () => storeFile(deps, callerOf(response), { file, fields });
      await deps.once({ request, response, endpoint: "/v1/files", body: () => formDigest(form), work });
    } finally {
      await form.close();
    }
  };
}

interface Upload {
  readonly file: FormFile;
  readonly fields: z.output<typeof fileForm>;
}

/** The file's record is created when all bytes are stored and all fields are valid. */
async function storeFile(deps: FilesDeps, caller: Caller, { file, fields }: Upload): Promise<FileObject> {
  const id = newFileId(deps);
  const { bytes } = await deps.records.putContent(caller.teamId, id, file.content, { bytes: file.size });
  const write = fileWrite({
    ...{ id, filename: file.name, purpose: fields.purpose, bytes, createdAtMs: deps.clock.now() },
    expiresAfterSeconds: fields["expires_after[seconds]"],
  });
  await deps.records.commit(ownerOf(caller), [write]);
  return write.body;
}

function contentHandler({ records }: FilesDeps): RequestHandler {
  return async (request: Request, response: Response) => {
    const caller = callerOf(response);
    const id = String(request.params["file_id"]);
    const { body } = await requireRecord<FileObject>({ records }, caller, { kind: "file", id });
    const content = await records.getContent(caller.teamId, id);
    if (!content) throw new AppError("NOT_FOUND", `The file ${id} has no content.`);
    // Always octets, so that an uploaded file is never rendered as a page of this origin.
    response.setHeader("content-type", "application/octet-stream");
    response.setHeader("content-length", body.bytes);
    response.setHeader("content-disposition", dispositionOf(body.filename));
    await ignore(pipeline(Readable.from(content), response), "it closes the connection, which is the only way to report it");
  };
}

/** A header value is ASCII; `filename*` holds any name. */
function dispositionOf(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\]/g, "_");
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

const UPLOAD: GatewayOperation["description"] = {
  summary: "Upload a file",
  tags: [TAG],
  body: fileForm,
  bodyType: "multipart/form-data",
  responses: {
    200: { description: "The file.", schema: fileObject },
    400: failure("No file was sent, or the form is not valid."),
    401: failure("No valid API key."),
    409: CONFLICT,
    413: failure("The file is too large, or the files of the organization would exceed their limit."),
    415: failure("The body is not multipart/form-data."),
    422: failure("A field is not valid; `detail` lists all errors."),
    503: failure("The control plane cannot be reached."),
  },
};

const CONTENT: GatewayOperation["description"] = {
  summary: "Retrieve the content of a file",
  tags: [TAG],
  params: z.object({ file_id: z.string() }),
  responses: {
    200: { description: "The bytes.", contentType: "application/octet-stream", schema: z.unknown() },
    401: failure("No valid API key."),
    404: failure("The file does not exist or belongs to another team."),
    503: failure("The control plane cannot be reached."),
  },
};
