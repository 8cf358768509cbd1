import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type AwsSigning, signAws } from "../aws-signature.ts";
import type { Clock } from "../clock.ts";
import { operatorFetch } from "../operator-fetch.ts";
import { type ListedObject, type ObjectFile, type ObjectStore, requireKey } from "./object-store.ts";

export interface S3Options {
  readonly bucket: string;
  /** A server other than AWS, whose buckets are the first part of the path. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  /** Before every key; empty, or ending in a slash. */
  readonly prefix: string;
  readonly keys: Pick<AwsSigning, "accessKeyId" | "secretAccessKey" | "sessionToken">;
  readonly clock: Clock;
  /** Larger objects are sent in parts of this size; S3 wants 5 MiB or more. */
  readonly partBytes?: number;
}

const PART_BYTES = 64 * 1024 * 1024;
const PARTS_MAX = 10_000;
const ATTEMPTS = 4;
const RETRY_MS = 250;
const NO_BYTES = createHash("sha256").digest("hex");

interface S3Call {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Absent: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
  readonly signal?: AbortSignal | undefined;
}

interface S3Body {
  /** Called for every attempt, because a stream can be read once. */
  open(): Readable | string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Objects of a bucket. A file is streamed from the disk, so memory does not grow with it: its SHA-256, which the signature covers, is known
 * before, and that of a part is computed by reading the part twice.
 */
export function openS3Objects(options: S3Options): ObjectStore {
  const { prefix, partBytes = PART_BYTES } = options;
  const send = createSend(options);
  const put = async (key: string, body: S3Body, signal?: AbortSignal): Promise<void> => {
    await expect200(await send({ method: "PUT", key, body, signal }), `storing ${key}`);
  };
  return {
    name: `the bucket ${options.bucket}`,
    put: (key, file, signal) =>
      file.bytes <= partBytes ? put(key, wholeFile(file), signal) : putInParts(send, { key, file, partBytes, signal }),
    size: async (key, signal) => {
      const answer = await send({ method: "HEAD", key, signal });
      if (answer.status === 404) return undefined;
      await expect200(answer, `looking for ${key}`);
      return Number(answer.headers.get("content-length"));
    },
    open: async (key, signal) => {
      const answer = await send({ method: "GET", key, signal });
      if (answer.status === 404) {
        await answer.body?.cancel();
        return undefined;
      }
      if (answer.status !== 200) throw await failure(answer, `reading ${key}`);
      return answer.body ? Readable.fromWeb(answer.body) : Readable.from([]);
    },
    list: (within, signal) => list(send, { within, prefix, signal }),
    remove: async (key, signal) => {
      const answer = await send({ method: "DELETE", key, signal });
      if (answer.status !== 404) await expect200(answer, `removing ${key}`);
    },
  };
}

type Send = (call: S3Call) => Promise<Response>;

/** Sends a signed request. Failures of the server or the network are tried again: every request may be repeated. */
function createSend({ bucket, endpoint, region, prefix, keys, clock }: S3Options): Send {
  const root = endpoint === undefined ? `https://${bucket}.s3.${region}.amazonaws.com/` : `${withoutSlash(endpoint)}/${bucket}/`;
  const signing = { ...keys, region, service: "s3" };
  const once = ({ method, key, query = {}, body, signal }: S3Call): Promise<Response> => {
    const url = new URL(root + (key === undefined ? "" : prefix + key));
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const payload = body?.sha256 ?? NO_BYTES;
    const unsigned = { "x-amz-content-sha256": payload, ...(body ? { "content-length": String(body.bytes) } : {}) };
    const headers = signAws({ method, url: url.href, headers: unsigned, payload }, signing, clock.now());
    const content = body?.open();
    // A redirect would be followed with a signature for another address.
    const init = { method, headers, redirect: "error", ...(content === undefined ? {} : { body: content, duplex: "half" }), signal };
    return operatorFetch(url, init as RequestInit);
  };
  return async (call) => {
    if (call.key !== undefined) requireKey(call.key);
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === ATTEMPTS;
      try {
        const answer = await once(call);
        if (answer.status < 500 || isLast) return answer;
        await answer.body?.cancel();
      } catch (thrown) {
        call.signal?.throwIfAborted();
        if (isLast) throw thrown;
      }
      await clock.sleep(RETRY_MS * 2 ** (attempt - 1), call.signal);
    }
  };
}

function wholeFile({ path, bytes, sha256 }: ObjectFile): S3Body {
  return { open: () => createReadStream(path), bytes, sha256 };
}

interface PartedUpload {
  readonly key: string;
  readonly file: ObjectFile;
  readonly partBytes: number;
  readonly signal: AbortSignal | undefined;
}

async function putInParts(send: Send, { key, file, partBytes, signal }: PartedUpload): Promise<void> {
  const begun = await send({ method: "POST", key, query: { uploads: "" }, signal });
  const upload = elementOf(await expect200(begun, `starting the upload of ${key}`), "UploadId");
  try {
    const size = Math.max(partBytes, Math.ceil(file.bytes / PARTS_MAX));
    const tags: string[] = [];
    for (let start = 0; start < file.bytes; start += size) {
      const end = Math.min(start + size, file.bytes);
      const query = { partNumber: String(tags.length + 1), uploadId: upload };
      const answer = await send({ method: "PUT", key, query, body: await partOf(file.path, { start, end }), signal });
      await expect200(answer, `storing part ${query.partNumber} of ${key}`);
      tags.push(answer.headers.get("etag") ?? "");
    }
    const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = textBody(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
    const ended = await send({ method: "POST", key, query: { uploadId: upload }, body, signal });
    const text = await expect200(ended, `completing the upload of ${key}`);
    // This request alone answers 200 before its result is known.
    if (text.includes("<Error>")) throw new Error(`completing the upload of ${key} failed: ${text.slice(0, 500)}`);
  } catch (thrown) {
    // Parts of an upload that is neither completed nor aborted are kept, and paid for, forever.
    await expect200(await send({ method: "DELETE", key, query: { uploadId: upload } }), `aborting the upload of ${key}`);
    throw thrown;
  }
}

async function partOf(path: string, { start, end }: { start: number; end: number }): Promise<S3Body> {
  const open = () => createReadStream(path, { start, end: end - 1 });
  const hash = createHash("sha256");
  for await (const chunk of open()) hash.update(chunk as Buffer);
  return { open, bytes: end - start, sha256: hash.digest("hex") };
}

function textBody(text: string): S3Body {
  return { open: () => text, bytes: Buffer.byteLength(text), sha256: createHash("sha256").update(text).digest("hex") };
}

async function* list(
  send: Send,
  { within, prefix, signal }: { within: string; prefix: string; signal: AbortSignal | undefined },
): AsyncGenerator<ListedObject> {
  let next = "";
  do {
    const query = { "list-type": "2", prefix: prefix + within, ...(next === "" ? {} : { "continuation-token": next }) };
    const text = await expect200(await send({ method: "GET", query, signal }), "listing");
    for (const content of text.split("<Contents>").slice(1)) {
      yield { key: elementOf(content, "Key").slice(prefix.length), modifiedMs: Date.parse(elementOf(content, "LastModified")) };
    }
    next = elementOf(text, "IsTruncated") === "true" ? elementOf(text, "NextContinuationToken") : "";
  } while (next !== "");
}

const withoutSlash = (url: string): string => (url.endsWith("/") ? url.slice(0, -1) : url);

/** The text of an element; keys have no characters that XML escapes, and tokens only these. */
function elementOf(xml: string, name: string): string {
  const start = xml.indexOf(`<${name}>`) + name.length + 2;
  const found = start < name.length + 2 ? "" : xml.slice(start, xml.indexOf("<", start));
  return found.replaceAll("&quot;", '"').replaceAll("&#34;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** The body of a successful answer. */
async function expect200(answer: Response, doing: string): Promise<string> {
  if (!answer.ok) throw await failure(answer, doing);
  return answer.text();
}

async function failure(answer: Response, doing: string): Promise<Error> {
  const text = (await answer.text()).slice(0, 500);
  return new Error(`${doing}: the S3 server answered ${answer.status}${text === "" ? "" : `: ${text}`}`);
}
