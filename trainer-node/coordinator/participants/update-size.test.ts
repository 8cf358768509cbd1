import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { systemClock as clock } from "../../../common/clock.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import { createNodeCalls } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import { createParticipants, type Participants } from "./participants.ts";

const TENANT = "org_1";
const LIMIT = 64 * 1024 * 1024;
const OCTETS = "application/octet-stream";
const signal = new AbortController().signal;

let folder: string;
let blobs: BlobFolder;
let participants: Participants;
let nodes: ReturnType<typeof createNodeCalls>;
const servers: Server[] = [];
const held: ServerResponse[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-update-size-"));
  blobs = openBlobFolder({ folder, bytesMax: 10 * LIMIT, bytesMaxPerTenant: LIMIT });
  nodes = createNodeCalls({ clock, random, idleMs: 60_000 });
  participants = createParticipants({ call: nodes.call, blobs });
});
afterAll(async () => {
  for (const response of held) response.destroy();
  await nodes.close();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A participant that answers each training like this. */
async function participant(answer: (response: ServerResponse) => void) {
  const server = createServer(async (request, response) => {
    await request.toArray();
    if (request.url === "/v1/info") response.end(JSON.stringify({ service: "tributary-trainer", formats: [] }));
    else answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: "", token: "", tenantId: TENANT };
}

const announce = (bytes: number) =>
  participant((response) => {
    response.writeHead(200, { "content-type": OCTETS, "content-length": bytes });
    response.write(Buffer.alloc(1024 * 1024));
    held.push(response);
  });
const train = async (node: Awaited<ReturnType<typeof participant>>, parameters: string) => {
  const task = { parameters, dataset: null, config: {}, key: "k", roundId: "r", clientId: "c" };
  return await participants.train(node, task, signal);
};

test("an update that is announced or sent larger than any of this model is the participant's failure", async () => {
  const { sha256: base } = await blobs.keep(
    (async function* () {
      yield Buffer.alloc(1000);
    })(),
  );
  await expect(train(await announce(200_000_000_000), base)).rejects.toThrow(ParticipantProblem);
  const endless = await participant(async (response) => {
    response.writeHead(200, { "content-type": OCTETS }).on("error", () => {});
    for (let piece = 0; piece < 40 && !response.destroyed; piece++)
      if (!response.write(Buffer.alloc(1024 * 1024))) await once(response, "drain");
    response.end();
  });
  await expect(train(endless, base)).rejects.toThrow(/its update has \d+ bytes or more/);
});

test("a size that is only announced takes no room from the other federations of the organization", async () => {
  const slow = train(await announce(LIMIT - 1000), "");
  void slow.catch(() => {});
  // Its first bytes are in the folder.
  const isArriving = () => readdirSync(folder).some((name) => name.startsWith(".partial-") && statSync(join(folder, name)).size > 0);
  while (!isArriving()) await turn();
  const honest = await participant((response) => response.writeHead(200, { "content-type": OCTETS }).end(Buffer.alloc(500_000)));
  expect(await train(honest, "")).toMatchObject({ bytes: 500_000 });
});
