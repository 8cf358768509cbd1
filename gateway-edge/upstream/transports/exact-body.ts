import { AppError } from "../../../common/errors.ts";

/**
 * A body of a known size. It fails if its source has another size, and its last piece comes after the end of the source: an upstream that has
 * all announced bytes takes the request for complete.
 */
export async function* exactBody(source: AsyncIterable<Uint8Array>, bodyBytes: number): AsyncGenerator<Uint8Array, undefined> {
  let leftBytes = bodyBytes;
  let last: Uint8Array | undefined;
  for await (const bytes of source) {
    if (bytes.length === 0) continue;
    if (bytes.length > leftBytes) throw wrongSize(`more than the announced ${bodyBytes} bytes`);
    leftBytes -= bytes.length;
    if (leftBytes > 0) yield bytes;
    else last = bytes;
  }
  if (leftBytes > 0) throw wrongSize(`${bodyBytes - leftBytes} of the announced ${bodyBytes} bytes`);
  if (last) yield last;
  return undefined;
}

function wrongSize(what: string): AppError {
  return new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal: `the body of an upstream request has ${what}` });
}
