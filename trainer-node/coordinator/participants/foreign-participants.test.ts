import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { federationSettings } from "../../../common/training/federation-settings.ts";
import { Federation, Participant, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { startNode } from "../../node-harness.ts";
import { createAggregation } from "../aggregation.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import type { FederationControl } from "../control.ts";
import type { FederationRun } from "../deps.ts";
import { plain } from "../privacy/plain.ts";
import { createNodeCalls } from "./node-call.ts";
import { createParticipants, type Participants } from "./participants.ts";

/** The first bytes of a pickle, then arbitrary ones: the coordinator may not read them. */
const pickle = (text: string) => Buffer.concat([Buffer.from([0x80, 4]), Buffer.from(text)]);

interface Asked {
  path: string;
  body: Record<string, unknown>;
}

/** As FLock's SDKs answer: one route, POST only, and an HTML page for everything else. */
async function startFlock(routes: readonly string[]): Promise<{ url: string; asked: Asked[]; server: Server }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (!routes.includes(path) || request.method !== "POST") {
      response.writeHead(routes.includes(path) ? 405 : 404, { "content-type": "text/html" }).end("<!doctype html>");
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    asked.push({ path, body });
    const method = body["method"] ?? path.slice(1);
    const list = body["parameters_list"] as string[] | undefined;
    const made = method === "aggregate" ? pickle(`mean of ${list?.length}`) : pickle(`trained by ${asked.length}`);
    const answer = method === "evaluate" ? { accuracy: 0.75 } : { parameters: made.toString("base64") };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

let folder: string;
let blobs: BlobFolder;
let participants: Participants;
let nodes: ReturnType<typeof createNodeCalls>;
const servers: Server[] = [];
const signal = new AbortController().signal;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-foreign-"));
  blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
  nodes = createNodeCalls({ clock, random, idleMs: 60_000 });
  participants = createParticipants({ call: nodes.call, blobs });
});
afterAll(async () => {
  await nodes.close();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function flock(generation: 1 | 2) {
  const started = await startFlock(generation === 1 ? ["/train", "/evaluate", "/aggregate"] : ["/call"]);
  servers.push(started.server);
  return { ...started, node: Participant.fromPartial({ id: "p1", url: started.url, secret: "s" }) };
}

const task = { parameters: "", dataset: [{ a: 1, label: 0 }], config: { epochs: 1 }, key: "k", roundId: "r", clientId: "p1" };

test.each([
  [1, "train", "/train", { parameters: null, dataset: task.dataset }],
  [2, "call", "/call", { parameters: null, method: "train" }],
] as const)("FLock's generation %s is found out, and sent what its own coordinator would send", async (generation, dialect, path, body) => {
  const { node, asked } = await flock(generation);
  expect(await participants.reach(node, signal)).toBe(dialect);
  const update = await participants.train(node, task, signal);
  expect(asked).toEqual([{ path, body }]);
  expect(await blobs.read(update.blob)).toEqual(pickle("trained by 1"));
  expect(update.samples).toBeUndefined();
  expect(await participants.evaluate(node, { ...task, parameters: update.blob }, signal)).toMatchObject({ accuracy: 0.75 });
  expect(asked[1]?.body["parameters"]).toBe(pickle("trained by 1").toString("base64"));
});

test("the end of a round is said to nodes that know rounds, and a FLock participant is not called for it", async () => {
  const started = await startNode({ threads: 1 });
  const node = Participant.fromPartial({ id: "p1", url: started.url, secret: "s" });
  await participants.closeRound?.(node, "fed_1/3", signal);
  const late = { ...task, roundId: "fed_1/3", dataset: { name: "digits" } };
  await expect(participants.train(node, late, signal)).rejects.toThrow(/409.*closed/);
  await started.stop();
  const { node: foreign, asked } = await flock(2);
  await participants.closeRound?.(foreign, "fed_1/3", signal);
  expect(asked).toEqual([]);
});

/** A round of opaque updates; each voter's aggregate is the given text. */
async function delegatedRound(voters: readonly { text: string; at?: string }[]) {
  const asked: string[] = [];
  const members = voters.map(({ at }, index) => Participant.fromPartial({ id: `p${index + 1}`, url: at ?? `http://voter-${index}` }));
  const aggregate: Participants["aggregate"] = async ({ url }) => {
    const index = members.findIndex((member) => member.url === url);
    asked.push(`p${index + 1}`);
    return (await blobs.keepBytes(pickle(voters[index]?.text ?? ""))).sha256;
  };
  const accepted = await Promise.all(
    members.map(async ({ id: participantId }) => {
      const { sha256 } = await blobs.keepBytes(pickle(participantId));
      return RoundParticipant.fromPartial({ participantId, state: "accepted", updateBlob: sha256 });
    }),
  );
  const aggregation = createAggregation({ blobs, recordBytes: 0, logger: silentLogger });
  const run: FederationRun = {
    deps: { participants: { ...participants, aggregate }, aggregation, blobs, clock, random, logger: silentLogger, callsMax: 1 },
    control: {} as FederationControl,
    settings: federationSettings.parse({ task: "anything" }),
    members,
    signal,
    federation: Federation.fromPartial({ id: "fed_1", participants: members }),
  };
  return { combined: plain.combine(run, 1, accepted), asked };
}

test("a participant aggregates opaque parameters with a call of its protocol", async () => {
  const { node, asked } = await flock(2);
  const list = await Promise.all(["one", "two"].map(async (text) => (await blobs.keepBytes(pickle(text))).sha256));
  expect(await blobs.read(await participants.aggregate(node, list, signal))).toEqual(pickle("mean of 2"));
  expect(asked.map(({ body }) => body["method"])).toEqual(["aggregate"]);
});

describe("opaque parameters need two voters that agree byte for byte", () => {
  const [mean, attack] = [{ text: "mean" }, { text: "666" }];

  test("two that agree are enough, and the record names them", async () => {
    const { combined, asked } = await delegatedRound([mean, mean, mean, mean]);
    const { record } = await combined;
    expect(record).toMatchObject({ made: "delegated", base: null, strategy: { name: "delegated", voters: asked.toSorted() } });
    expect(asked).toHaveLength(2);
    expect(await blobs.read(record.result)).toEqual(pickle("mean"));
  });

  test("an attacker that is listed first is outvoted, in whatever order they are asked", async () => {
    for (let time = 0; time < 10; time++) {
      const { record } = await (await delegatedRound([attack, mean, mean])).combined;
      expect(await blobs.read(record.result)).toEqual(pickle("mean"));
    }
  });

  test.each([
    ["one participant", [mean]],
    [
      "one program that is listed twice",
      [
        { ...mean, at: "http://same" },
        { ...mean, at: "http://same" },
      ],
    ],
    ["two that differ", [attack, mean]],
    ["as many attackers as others", [attack, mean, { text: "667" }, { text: "668" }]],
  ])("%s decides nothing, and the failure says why", async (_name, voters) => {
    const { combined } = await delegatedRound(voters);
    await expect(combined).rejects.toMatchObject({
      code: "AGGREGATION_FAILED",
      message: expect.stringMatching(/at least two of them must make the same bytes: .*p\d made [0-9a-f]{12}.* Send safetensors/),
    });
  });
});

test("a server without the protocol and an unreachable address give different problems", async () => {
  const unrelated = await startFlock([]);
  servers.push(unrelated.server);
  const at = (url: string) => Participant.fromPartial({ url, secret: "s" });
  await expect(participants.train(at(unrelated.url), task, signal)).rejects.toMatchObject({ message: "it answered 404", again: false });
  await expect(participants.reach(at("http://127.0.0.1:9"), signal)).rejects.toMatchObject({ again: true });
});

test.each([
  ["/train", ["/train"]],
  ["/call", ["/call", "/call"]],
])("who says 404 to GET on %s, as many servers do, is found out with the work itself", async (route, served) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const isThere = request.method === "POST" && request.url === route;
    if (isThere) asked.push(route);
    response.writeHead(isThere ? 200 : 404, { "content-type": "application/json" }).end(isThere ? '{"parameters":"AAAA"}' : "{}");
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const node = Participant.fromPartial({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: "s" });
  expect(await participants.train(node, task, signal)).toMatchObject({ bytes: 3 });
  // Known from then on: nothing is tried in vain again.
  if (route === "/call") await participants.train(node, { ...task, key: "k2" }, signal);
  expect(asked).toEqual(served);
});
