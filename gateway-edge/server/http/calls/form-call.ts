import { createHash } from "node:crypto";
import { AppError } from "../../../../common/errors.ts";
import type { IncomingForm } from "../../uploads/read-form.ts";

/** A hash of a form's fields and files, independent of boundary and field order, for idempotency. */
export async function formDigest(form: IncomingForm): Promise<Buffer> {
  const hash = createHash("sha256");
  const fields = form.fields.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  hash.update(JSON.stringify([fields, form.files.map(({ field, name, contentType, size }) => [field, name, contentType, size])]));
  for (const { content } of form.files) for await (const bytes of content) hash.update(bytes);
  return hash.digest();
}

/** Throws INVALID_REQUEST for an empty file. */
export function refuseEmptyFiles(form: IncomingForm): void {
  const empty = form.files.find(({ size }) => size === 0);
  if (empty) throw new AppError("INVALID_REQUEST", `${empty.field}: the file is empty`, { param: empty.field });
}
