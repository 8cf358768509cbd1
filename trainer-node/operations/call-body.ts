import { Unpackr } from "msgpackr/index-no-eval";
import { decodeBase64 } from "../codec/base64.ts";
import { TrainerError } from "../errors.ts";
import { createBase64Stream } from "../stream/base64-stream.ts";
import { createByteBuffer } from "../stream/byte-buffer.ts";
import { type ByteSource, readAll } from "../stream/byte-source.ts";
import { readJsonBody } from "../stream/json-body.ts";
import { JSON_DEPTH_MAX, PART_BYTES_MAX, REST_BYTES_MAX } from "./call-limits.ts";
import type { ClientIntake } from "./client-intake.ts";
import { readFrames } from "./frames.ts";

/** The encoding of a request or answer body. */
export type BodyType = "json" | "msgpack" | "octets";

const BYTE_FIELDS = new Set(["parameters", "base", "state"]);
/** Those that a header may have beside the parameters of the body, in base64 as in JSON. */
const HEADER_BYTE_FIELDS = ["base", "state"];
const LIST_FIELD = "parameters_list";

/**
 * Reads the fields of a call from any body type. Parameters are bytes (null if they are empty), and the entries of `parameters_list` are
 * already taken in, so that no part of the body is held longer than needed.
 */
export function readCallBody(
  source: ByteSource,
  call: { bodyType: BodyType; list: boolean; config: string | undefined; intake: ClientIntake<unknown> },
): Record<string, unknown> {
  const fields = readers[call.bodyType](source, call);
  for (const field of BYTE_FIELDS) {
    const value = fields[field];
    if (value === "" || (value instanceof Uint8Array && value.byteLength === 0)) fields[field] = null;
  }
  return fields;
}

type CallBodyOptions = Parameters<typeof readCallBody>[1];

const readers: Readonly<Record<BodyType, (source: ByteSource, call: CallBodyOptions) => Record<string, unknown>>> = {
  json: (source, { intake }) => {
    return readJsonBody(source, {
      streamedFields: BYTE_FIELDS,
      streamedLists: new Set([LIST_FIELD]),
      depthMax: JSON_DEPTH_MAX,
      restBytesMax: REST_BYTES_MAX,
      openSink: ({ field, index }) => {
        const target = index === undefined ? createByteBuffer(PART_BYTES_MAX) : intake.buffer;
        target.clear();
        const stream = createBase64Stream(target, index === undefined ? field : `${field}[${index}]`);
        return {
          write: (text) => withClient(index, () => stream.write(text)),
          end: () => {
            withClient(index, () => stream.end());
            return index === undefined ? target.bytes : intake.take(target.bytes, index);
          },
        };
      },
    });
  },
  msgpack: (source, { intake }) => {
    const fields = unpack(readAll(source));
    const list = fields[LIST_FIELD];
    if (Array.isArray(list)) {
      fields[LIST_FIELD] = list.map((entry: unknown, index) => (entry instanceof Uint8Array ? intake.take(entry, index) : entry));
    }
    return fields;
  },
  octets: (source, { list, config, intake }) => {
    const fields = parseConfig(config);
    for (const field of HEADER_BYTE_FIELDS) {
      const text = fields[field];
      if (typeof text === "string") fields[field] = decodeBase64(text, field);
    }
    if (list) return { ...fields, ...readFrames(source, intake) };
    return { ...fields, parameters: readAll(source) };
  },
};

function unpack(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = new Unpackr({ useRecords: false, mapsAsObjects: true, structuredClone: false }).unpack(bytes);
  } catch (cause) {
    throw new TrainerError("MALFORMED_JSON", "The body is not MessagePack.", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.getPrototypeOf(value) !== Object.prototype) {
    throw new TrainerError("VALIDATION_ERROR", "The body must be a MessagePack map.");
  }
  return value as Record<string, unknown>;
}

/** The other fields of a call with an octet body, as the JSON of the X-Train-Config header. */
function parseConfig(config: string | undefined): Record<string, unknown> {
  if (config === undefined) return {};
  try {
    const text = config.trimStart().startsWith("{") ? config : Buffer.from(config, "base64").toString("utf8");
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The error below covers this.
  }
  throw new TrainerError("VALIDATION_ERROR", "X-Train-Config must be a JSON object, plain or in base64.", {
    details: { field: "X-Train-Config" },
  });
}

function withClient(client: number | undefined, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    if (client === undefined || !(thrown instanceof TrainerError)) throw thrown;
    throw new TrainerError(thrown.kind, `client ${client}: ${thrown.message}`, { details: { ...thrown.details, client }, cause: thrown });
  }
}
