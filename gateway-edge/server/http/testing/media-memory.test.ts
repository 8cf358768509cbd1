import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deployment, FakeControl, startEdge } from "./edge-fixture.ts";

const UPLOADS = 8;
const FILE_BYTES = 20 * 1024 * 1024;
const GROWTH_MB_MAX = 60;

/** Another process sends and receives, so that what it holds does not count here. */
const BOTH_ENDS = `
  import { createServer, request } from "node:http";
  import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
  const piece = Buffer.alloc(65536, 7);
  let received = 0;
  // Slower than the senders, so that what is not passed on has to be somewhere.
  const upstream = createServer(async (incoming, response) => {
    for await (const bytes of incoming) {
      received += bytes.length;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    response.setHeader("content-type", "application/json").end('{"text":"hi","duration":1}');
  });
  upstream.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: upstream.address().port })));
  const send = ({ url, key, bytes }) => new Promise((resolve, reject) => {
    const part = (name) => '--b\\r\\ncontent-disposition: form-data; name=' + name + '\\r\\n\\r\\n';
    const head = part('"model"') + 'm\\r\\n' + part('"file"; filename="a.wav"');
    const tail = "\\r\\n--b--\\r\\n";
    const length = head.length + bytes + tail.length;
    const headers = { authorization: "Bearer " + key, "content-type": "multipart/form-data; boundary=b", "content-length": length };
    const sending = request(url, { method: "POST", headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    sending.on("error", reject);
    sending.write(head);
    let left = bytes;
    const more = () => {
      while (left > 0) {
        left -= piece.length;
        if (!sending.write(piece) && left > 0) return void sending.once("drain", more);
      }
      sending.end(tail);
    };
    more();
  });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    const statuses = await Promise.all(Array.from({ length: order.count }, () => send(order)));
    console.log(JSON.stringify({ statuses, received }));
  }
`;

// What is held counts, not what waits for the collector: that is about as much as it lets lie, whatever the size of the files.
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Report {
  readonly port?: number;
  readonly statuses?: readonly number[];
  readonly received?: number;
}

/** What is held to account is memory; 160 MB through two processes take their time where others work too. */
const SLOW_MACHINE_MS = 120_000;

test(
  `${UPLOADS} uploads of 20 MB at one time do not lie in memory`,
  async () => {
    const ends = spawn(process.execPath, ["--input-type=module", "-e", BOTH_ENDS], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: ends.stdout })[Symbol.asyncIterator]();
    const nextReport = async () => JSON.parse((await lines.next()).value as string) as Report;
    const control = new FakeControl();
    const baseUrl = `http://127.0.0.1:${(await nextReport()).port}/v1`;
    control.deployments = [
      deployment({ modelName: "m", providerKind: "openai", inferenceModelId: "m-x", baseUrl, apiKey: "up", params: "{}" }),
    ];
    control.balance = 10n ** 18n;
    const edge = await startEdge(control);
    const { secret: key } = control.addKey();
    const send = (count: number, bytes: number) => {
      ends.stdin.write(`${JSON.stringify({ url: `${edge.url}/v1/audio/transcriptions`, key, count, bytes })}\n`);
      return nextReport();
    };
    let watch: NodeJS.Timeout | undefined;
    try {
      await send(2, 4 * 65536);
      collectGarbage();
      const before = process.memoryUsage.rss();
      let peak = before;
      // The pause is after a collection, not between two: of a large heap one may take longer than the pause.
      const look = () => {
        collectGarbage();
        peak = Math.max(peak, process.memoryUsage.rss());
        watch = setTimeout(look, 250);
      };
      watch = setTimeout(look, 250);
      const { statuses, received } = await send(UPLOADS, FILE_BYTES);
      expect(statuses).toEqual(Array.from({ length: UPLOADS }, () => 200));
      expect(received).toBeGreaterThan(UPLOADS * FILE_BYTES);
      expect((peak - before) / 1024 / 1024).toBeLessThan(GROWTH_MB_MAX);
    } finally {
      clearTimeout(watch);
      ends.kill();
      await edge.close();
    }
  },
  SLOW_MACHINE_MS,
);
