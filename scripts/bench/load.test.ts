import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { load } from "./load.ts";

/** A server that answers 503 to its third request, and 200 to others. */
async function start(): Promise<{ server: Server; url: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    response.statusCode = requests === 3 ? 503 : 200;
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

test.each([undefined, 2000])("after the first refused call a load begins no other; rate %s", async (rate) => {
  const { server, url, requests } = await start();
  try {
    const loading = load({ url, headers: {} }, { stream: false, connections: 4, calls: 5000, rate });
    await expect(loading).rejects.toThrow("answered 503");
    const begun = requests();
    expect(begun).toBeLessThan(1000);
    // A worker that goes on would be counted until here.
    await new Promise((closed) => server.close(closed));
    expect(requests()).toBe(begun);
  } finally {
    server.close();
  }
});
