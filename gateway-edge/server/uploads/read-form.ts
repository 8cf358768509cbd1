import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import busboy from "busboy";
import { AppError, asAppError } from "../../../common/errors.ts";
import { ignore } from "../../../common/ignore.ts";
import { allowSlowBody } from "../../../common/slow-body.ts";
import { dropRest, requireIdentity } from "../../calls/read-body.ts";
import type { FormField, FormFile } from "../../upstream/providers/provider.ts";
import { Spool } from "./spool.ts";

/** The limits of a form. */
export interface FormLimits {
  /** The fields that may be files. */
  readonly fileFields: readonly string[];
  readonly filesMax: number;
  readonly fileBytesMax: number;
  /** Sees the bytes of files as they arrive. */
  readonly watch?: (bytes: Buffer) => void;
}

const FIELDS_MAX = 200;
const FIELD_BYTES_MAX = 1024 * 1024;
/** Of all fields with their names. They are in memory, where files are not. */
const FIELDS_BYTES_MAX = 2 * 1024 * 1024;

/** Reads a form while it is received: fields into memory, files into spools. Its parts can be used before its end. */
export function readForm(request: IncomingMessage, limits: FormLimits): IncomingForm {
  const type = request.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\s*;/i.test(type)) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", `Content-Type "${type.slice(0, 100)}" is not accepted here; send multipart/form-data.`);
  }
  requireIdentity(request);
  allowSlowBody(request);
  return new IncomingForm(request, limits);
}

export class IncomingForm {
  readonly #request: IncomingMessage;
  readonly #limits: FormLimits;
  readonly #parser: busboy.Busboy;
  readonly #fields: FormField[] = [];
  readonly #files: { readonly head: Omit<FormFile, "size" | "content">; readonly spool: Spool }[] = [];
  readonly #storing: Promise<void>[] = [];
  readonly #begun = Promise.withResolvers<void>();
  readonly #complete = Promise.withResolvers<void>();
  #state: "coming" | "complete" | "failed" = "coming";
  #fieldBytes = 0;

  constructor(request: IncomingMessage, limits: FormLimits) {
    this.#request = request;
    this.#limits = limits;
    this.#parser = openParser(request);
    // Without these, a failure before the promises are awaited would be an unhandled rejection.
    void ignore(this.#begun.promise, "the reader of the form awaits it");
    void ignore(this.#complete.promise, "the reader of the form awaits it");
    this.#parser.on("field", (name, value, info) => this.#takeField(name, value, info));
    this.#parser.on("file", (field, stream, { filename, mimeType }) => {
      this.#takeFile({ field: field ?? "", name: filename ?? "", contentType: mimeType }, stream);
    });
    this.#parser.once("fieldsLimit", () => this.#fail(tooLarge(`The form has more than ${FIELDS_MAX} fields.`)));
    this.#parser.on("error", (cause) =>
      this.#fail(new AppError("INVALID_REQUEST", "The form is not valid multipart/form-data.", { cause })),
    );
    this.#parser.once("close", () => void this.#finish());
    request.once("close", () => {
      if (!request.complete) this.#fail(new AppError("INVALID_REQUEST", "The client disconnected before the form was complete."));
    });
    request.pipe(this.#parser);
  }

  /** Resolves when the first file begins, so that all fields before it are known, or at the end of the form. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get complete(): Promise<void> {
    return this.#complete.promise;
  }

  get isComplete(): boolean {
    return this.#state === "complete";
  }

  /** So far. */
  get fields(): readonly FormField[] {
    return this.#fields;
  }

  /** The files so far. Each can be read repeatedly, from its start, while it is received. */
  get files(): readonly FormFile[] {
    return this.#files.map(({ head, spool }) => ({
      ...head,
      size: spool.isEnded ? spool.size : undefined,
      content: { [Symbol.asyncIterator]: () => spool.read() },
    }));
  }

  /** After the response: frees the files, and drains the rest of the request so that the client can read its response. */
  async close(): Promise<void> {
    const wasComplete = this.isComplete;
    this.#fail(new Error("the form was dropped"));
    if (!wasComplete) await dropRest(this.#request);
    await Promise.all(this.#files.map(({ spool }) => spool.close()));
  }

  #takeField(name: string | undefined, value: string, { valueTruncated, nameTruncated }: busboy.FieldInfo): void {
    if (this.#state !== "coming") return;
    this.#fieldBytes += Buffer.byteLength(name ?? "") + Buffer.byteLength(value);
    if (valueTruncated || nameTruncated) {
      this.#fail(tooLarge(`The field ${name?.slice(0, 100)} is longer than ${FIELD_BYTES_MAX} bytes.`));
    } else if (this.#fieldBytes > FIELDS_BYTES_MAX) {
      this.#fail(tooLarge(`The fields of the form have more than ${FIELDS_BYTES_MAX} bytes together.`));
    } else if (name) {
      this.#fields.push([name, value]);
    }
  }

  #takeFile(head: Omit<FormFile, "size" | "content">, stream: Readable): void {
    const { fileFields, filesMax } = this.#limits;
    const problem = !fileFields.includes(head.field)
      ? `The field ${head.field} must not be a file.`
      : this.#files.length >= filesMax && `The form has more than ${filesMax} files.`;
    // A stream that is not read may fail; the form reports the reason.
    stream.on("error", () => {});
    if (problem) {
      stream.resume();
      this.#fail(new AppError("INVALID_REQUEST", problem, { param: head.field }));
      return;
    }
    const spool = new Spool();
    // A name in UTF-16 may hold half a character, which no header and no URL can hold.
    this.#files.push({ head: { ...head, name: head.name.toWellFormed() || "file" }, spool });
    this.#storing.push(this.#store(spool, stream).catch((thrown: unknown) => this.#fail(thrown)));
    this.#begun.resolve();
  }

  async #store(spool: Spool, stream: Readable): Promise<void> {
    const { fileBytesMax, watch } = this.#limits;
    for await (const bytes of stream as AsyncIterable<Buffer>) {
      if (this.#state === "failed") continue;
      if (spool.size + bytes.length > fileBytesMax) {
        this.#fail(tooLarge(`A file can have at most ${fileBytesMax} bytes.`));
        continue;
      }
      watch?.(bytes);
      await spool.write(bytes);
    }
    spool.end();
  }

  async #finish(): Promise<void> {
    await Promise.all(this.#storing);
    if (this.#state !== "coming") return;
    this.#state = "complete";
    this.#begun.resolve();
    this.#complete.resolve();
  }

  #fail(reason: unknown): void {
    if (this.#state !== "coming") return;
    this.#state = "failed";
    const error = asAppError(reason);
    for (const { spool } of this.#files) spool.fail(error);
    this.#begun.reject(error);
    this.#complete.reject(error);
    this.#request.unpipe(this.#parser);
    this.#request.resume();
    // Otherwise a file that is not complete would wait forever.
    this.#parser.destroy();
  }
}

function openParser(request: IncomingMessage): busboy.Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: "utf8",
      limits: { fields: FIELDS_MAX, fieldSize: FIELD_BYTES_MAX, fieldNameSize: 256 },
    });
  } catch (cause) {
    throw new AppError("INVALID_REQUEST", "The Content-Type of the form has no boundary.", { cause });
  }
}

function tooLarge(message: string): AppError {
  return new AppError("PAYLOAD_TOO_LARGE", message);
}
