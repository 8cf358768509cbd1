import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { PutRecord, Record as RecordMessage, RecordWrite } from "../../../proto/gen/tributary/records/v1/records.ts";
import type { TeamRecord } from "../../domain/records.ts";
import { BODY_BYTES_MAX, type RecordChange } from "../../domain/team-records.ts";
import type { TeamWrite } from "../../writes/records.ts";

export function recordMessage(record: TeamRecord): RecordMessage {
  const { id, kind, teamId, organizationId, keyId, parentId, body, claim } = record;
  return {
    ...{ id, kind, teamId, organizationId, keyId, parentId: parentId ?? "", body, claim },
    revision: BigInt(record.revision),
    sequence: BigInt(record.sequence),
    createdAtMs: BigInt(record.createdAt),
    dueAtMs: optionalBigint(record.dueAt),
    expiresAtMs: optionalBigint(record.expiresAt),
  };
}

export function teamWrite({ write }: RecordWrite): TeamWrite {
  switch (write?.$case) {
    case "create":
      return { type: "create", record: newRecord(write.value) };
    case "put":
      return { type: "put", kind: write.value.kind, id: write.value.id, change: changeOf(write.value) };
    case "remove": {
      const { kind, id, expectedRevision, withChildren } = write.value;
      return { type: "remove", kind, id, expectedRevision: optionalNumber(expectedRevision), withChildren, keepsPlace: true };
    }
    case "held":
      return { type: "held", ...write.value };
    default:
      throw new AppError("VALIDATION_ERROR", "Each write must be one of create, put, remove and held.");
  }
}

/** Ids are part of names of blobs and lists, separated by slashes. */
export function requireId(id: string): string {
  if (!/^[\w.-]{1,128}$/.test(id))
    throw new AppError("VALIDATION_ERROR", "An id must have 1 to 128 letters, digits, dots, dashes or underscores.");
  return id;
}

function newRecord(message: RecordMessage): Extract<TeamWrite, { type: "create" }>["record"] {
  const dueAt = optionalNumber(message.dueAtMs);
  return {
    id: requireId(message.id),
    kind: requireId(message.kind),
    organizationId: message.organizationId,
    keyId: message.keyId,
    body: limitedBody(message.body),
    createdAt: Number(message.createdAtMs),
    ...defined({
      parentId: message.parentId ? requireId(message.parentId) : undefined,
      dueAt,
      claim: dueAt === undefined ? undefined : message.claim,
      expiresAt: optionalNumber(message.expiresAtMs),
    }),
  };
}

function changeOf({ body, expectedRevision, dueAtMs, claim, expiresAtMs, keepWork }: PutRecord): RecordChange {
  return {
    body: limitedBody(body),
    expectedRevision: optionalNumber(expectedRevision),
    dueAt: optionalNumber(dueAtMs),
    claim,
    expiresAt: optionalNumber(expiresAtMs),
    keepWork,
  };
}

function limitedBody(body: string): string {
  if (Buffer.byteLength(body) <= BODY_BYTES_MAX) return body;
  throw new AppError("PAYLOAD_TOO_LARGE", `The record is larger than ${BODY_BYTES_MAX} bytes.`);
}

function optionalNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function optionalBigint(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
