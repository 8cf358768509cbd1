import { request } from "node:http";

/** Posts chunks with backpressure and reads the response. Returns the seconds from first byte to last. */
export async function postPieces(
  url: string,
  type: string,
  pieces: Iterable<Uint8Array>,
): Promise<{ seconds: number; status: number; bytes: number }> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const call = request(url, { method: "POST", headers: { "content-type": type, accept: type } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.byteLength;
      });
      response.on("end", () => resolve({ seconds: (performance.now() - startedMs) / 1000, status: response.statusCode ?? 0, bytes }));
      response.on("error", reject);
    });
    call.on("error", reject);
    void (async () => {
      for (const piece of pieces) {
        if (!call.write(piece)) await new Promise((drained) => call.once("drain", drained));
      }
      call.end();
    })();
  });
}

/** Slightly changed bytes of one client, to generate any number of clients. */
function* varied(bytes: Uint8Array, client: number, place: number): Generator<Uint8Array> {
  const head = Buffer.from(bytes.subarray(0, place + 4));
  head.write(`${client % 10}AA${Math.floor(client / 10) % 10}`, place, "latin1");
  yield head;
  yield bytes.subarray(place + 4);
}

/** An offset at which the numbers of a container, and of its base64, have certainly begun. */
const PLACE = { octets: 240, base64: 320 } as const;

/** The JSON body of an aggregation of nearly equal clients. */
export function* jsonPieces(base64: Uint8Array, clients: number): Generator<Uint8Array> {
  yield Buffer.from('{"parameters_list":[');
  for (let client = 0; client < clients; client++) {
    yield Buffer.from(client === 0 ? '"' : ',"');
    yield* varied(base64, client, PLACE.base64);
    yield Buffer.from('"');
  }
  yield Buffer.from("]}");
}

/** The same as binary frames. */
export function* framePieces(container: Uint8Array, clients: number): Generator<Uint8Array> {
  const header = Buffer.from(JSON.stringify({ bytes: container.byteLength }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.byteLength);
  for (let client = 0; client < clients; client++) {
    yield Buffer.concat([length, header]);
    yield* varied(container, client, PLACE.octets);
  }
}
