import { crc32 } from "node:zlib";

/** Encodes one frame of application/vnd.amazon.eventstream; for tests and for the recorded streams. */
export function encodeFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const headerBytes = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeHeader(name, value)));
  const payloadBytes = Buffer.from(payload, "utf8");
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(prelude.length + headerBytes.length + payloadBytes.length + 4, 0);
  prelude.writeUInt32BE(headerBytes.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headerBytes, payloadBytes]);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(message));
  return Buffer.concat([message, end]);
}

export function encodeEvent(type: string, payload: unknown): Buffer {
  return encodeFrame({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }, JSON.stringify(payload));
}

export function encodeException(type: string, payload: unknown): Buffer {
  return encodeFrame(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    JSON.stringify(payload),
  );
}

function encodeHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([Buffer.of(Buffer.byteLength(name)), Buffer.from(name), Buffer.of(7), length, Buffer.from(value)]);
}
