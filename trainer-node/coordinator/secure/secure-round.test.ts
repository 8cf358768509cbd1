import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { federationSettings } from "../../../common/training/federation-settings.ts";
import type { RoundRecord } from "../../../common/training/round-record.ts";
import { Federation, Participant, Round } from "../../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters } from "../../codec/parameters.ts";
import { fixedPointFor } from "../../compute/privacy/fixed-point.ts";
import { type Node, startNode } from "../../node-harness.ts";
import { createAggregation } from "../aggregation.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import type { FederationControl } from "../control.ts";
import type { FederationRun } from "../deps.ts";
import { type CallNode, createNodeCalls } from "../participants/node-call.ts";
import { createParticipants } from "../participants/participants.ts";
import { runRound } from "../run-round.ts";
import { remakeMasked } from "./combine-masked.ts";
import { createSecureTools } from "./unmasking.ts";

const [RANGE, PLACES] = [8, 4];
const task = { name: "softmax", config: { epochs: 1, batch_size: 32, lr: 0.1 } };
const folder = mkdtempSync(join(tmpdir(), "tributary-secure-"));
const blobs = openBlobFolder({ folder, bytesMax: 10_000_000 });
const nodeCalls = createNodeCalls({ clock, random, idleMs: 60_000 });
/** What the coordinator asks, by path; a test may have a node end just before. */
const asked: string[] = [];
let before: (path: string, url: string) => Promise<void> = async () => {};
let after: (path: string, url: string) => void = () => {};
const call: CallNode = async (node, request, signal) => {
  asked.push(`${request.method} ${request.path}`);
  await before(request.path, node.url);
  const answer = await nodeCalls.call(node, request, signal);
  after(request.path, node.url);
  return answer;
};
const aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });
const secure = createSecureTools({ call, blobs, logger: silentLogger });
const nodes: Node[] = [];
const victims: Node[] = [];

beforeAll(async () => {
  for (let index = 0; index < PLACES; index++) nodes.push(await startNode({ threads: 1 }));
}, 60_000);
beforeEach(() => {
  asked.length = 0;
  before = async () => {};
  after = () => {};
});
afterAll(async () => {
  await Promise.all([...[...nodes, ...victims].map((node) => node.stop()), aggregation.close(), secure.close(), nodeCalls.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** A node that a test stops, or means to: some rounds end before its turn comes. */
async function startVictim(): Promise<Node> {
  const victim = await startNode({ threads: 1 });
  victims.push(victim);
  return victim;
}

let openedMs = 0;

/** As the control plane keeps a round. */
function memoryControl(id: string) {
  const kept = { round: undefined as Round | undefined, commits: [] as RoundRecord[] };
  const control: Partial<FederationControl> = {
    openRound: async (ids) => {
      kept.round ??= Round.fromPartial({
        federationId: id,
        round: 1,
        state: "selecting",
        openedAt: new Date(++openedMs),
        participants: ids.map((participantId) => ({ participantId })),
      });
      return kept.round;
    },
    recordResult: async (_round, result) => {
      const others = (kept.round?.participants ?? []).filter(({ participantId }) => participantId !== result.participantId);
      kept.round = Round.fromPartial({ ...kept.round, participants: [...others, result] });
      return kept.round;
    },
    setPhase: async (_round, state) => {
      kept.round = Round.fromPartial({ ...kept.round, state });
    },
    commitRound: async ({ record }) => {
      const read = JSON.parse(record) as RoundRecord;
      kept.commits.push(read);
      return Federation.fromPartial({ id, headRound: 1, headBlob: read.result });
    },
  };
  return { kept, control: control as FederationControl };
}

function open(id: string, settings: object, head: Partial<Federation> = {}) {
  const participants = nodes.map(({ url }, index) =>
    Participant.fromPartial({
      id: `p${index + 1}`,
      url,
      secret: "s",
      // Not all alike, so that weights matter.
      dataset: JSON.stringify({ name: "digits", partition: { scheme: "dirichlet", alpha: 1, seed: 5, index, of: PLACES } }),
    }),
  );
  const { kept, control } = memoryControl(id);
  const run: FederationRun = {
    deps: {
      participants: createParticipants({ call, blobs }),
      aggregation,
      secure,
      blobs,
      clock,
      random,
      logger: silentLogger,
      callsMax: 8,
    },
    control,
    settings: federationSettings.parse({ task, eval: { mode: "none" }, ...settings }),
    members: participants,
    signal: new AbortController().signal,
    federation: Federation.fromPartial({ id, participants, ...head }),
  };
  return { run, kept };
}

const hidden = (more: object = {}) => ({ secureAggregation: { range: RANGE, threshold: 0.51 }, ...more });
const valuesOf = async (sha256: string) =>
  decodeParameters(await blobs.read(sha256))
    .tensors.sort((left, right) => (left.name < right.name ? -1 : 1))
    .flatMap(({ data }) => Array.from(data as Float32Array));
const { fractionBits } = fixedPointFor({ clients: PLACES, limit: RANGE });

/** Half a step of each, over what the smallest sum of parts may be, and float32's own rounding. */
const PRECISION = PLACES * 2 ** -fractionBits + 1e-6;

async function expectSame(left: string, right: string, precision = PRECISION): Promise<void> {
  const [one, other] = [await valuesOf(left), await valuesOf(right)];
  expect(one).toHaveLength(other.length);
  const gap = one.reduce((most, value, index) => Math.max(most, Math.abs(value - (other[index] as number))), 0);
  expect(gap).toBeLessThan(precision);
}

/** The plain round of the same federation, of those participants only. */
async function plainMean(id: string, of: readonly string[], head: Partial<Federation> = {}, settings: object = {}): Promise<string> {
  const { run, kept } = open(id, settings, head);
  await runRound({ ...run, members: run.members.filter((member) => of.includes(member.id)) });
  return kept.commits[0]?.result as string;
}

const EVERYBODY = ["p1", "p2", "p3", "p4"];

test("the secure mean is the plain weighted mean to the precision of its fixed point, and the folder holds no single update", async () => {
  const { run, kept } = open("fed_all", hidden());
  await runRound(run);
  const [record] = kept.commits as [RoundRecord];
  expect(record).toMatchObject({ made: "unmasked", base: null, strategy: { name: "mean" } });
  // Loss and accuracy of a participant's own rows would be exact.
  expect(kept.round?.participants.map(({ metrics }) => metrics)).toEqual([{}, {}, {}, {}]);
  const files = readdirSync(folder);
  const plain = await plainMean("fed_plain", EVERYBODY);
  await expectSame(record.result, plain);
  // Every update of the plain round is new to the folder: the secure one never held any of them.
  const plainUpdates = readdirSync(folder).filter((name) => !files.includes(name) && name !== plain);
  expect(plainUpdates).toHaveLength(PLACES);
  expect(asked.filter((path) => path.endsWith("/v1/train"))).toHaveLength(PLACES);
  expect(Buffer.from(await remakeMasked(run.deps, record, run.signal))).toEqual(await blobs.read(record.result));
});

test.each([
  ["before the round", ""],
  ["while it trains", "/train"],
  ["before it sends its shares", "/shares"],
])(
  "a node that dies %s costs the others seconds, and not the deadline",
  async (_when, step) => {
    const { run, kept } = open(`fed_dead_${step.length}`, hidden({ deadlineMs: 60_000 }));
    const victim = await startVictim();
    const members = run.members.map((member) => (member.id === "p2" ? { ...member, url: victim.url } : member));
    before = async (path, url) => {
      if (url === victim.url && path.endsWith(step)) await victim.stop();
    };
    const beganMs = clock.monotonicMs();
    await runRound({ ...run, members });
    expect(clock.monotonicMs() - beganMs).toBeLessThan(20_000);
    expect(kept.commits[0]?.updates).toHaveLength(3);
    expect(kept.round?.participants.find(({ participantId }) => participantId === "p2")).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("cannot be reached"),
    });
  },
  60_000,
);

test("the first introduction of a round without a base does not decide which tensors all must have", async () => {
  const { run, kept } = open("fed_layouts", hidden());
  // Another width of rows is another model. It is the only one that answers at once.
  const odd = { synthetic: { device: 0, of: 30 } };
  const members = run.members.map((member) => (member.id === "p1" ? { ...member, dataset: JSON.stringify(odd) } : member));
  let answered: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    answered = resolve;
  });
  before = async (path, url) => {
    if (path.endsWith("/train") && url !== nodes[0]?.url) await first;
  };
  after = (path, url) => {
    if (path.endsWith("/train") && url === nodes[0]?.url) answered();
  };
  await runRound({ ...run, members });
  expect(kept.round?.participants.find(({ participantId }) => participantId === "p1")).toMatchObject({
    state: "failed",
    reason: expect.stringContaining("SHAPE_MISMATCH"),
  });
  expect(kept.commits[0]?.updates).toHaveLength(3);
  await expectSame(kept.commits[0]?.result as string, await plainMean("fed_layouts_plain", ["p2", "p3", "p4"]));
});

test("one that goes away before it sends what it masked is left out exactly, and the round says who it was", async () => {
  const { run, kept } = open("fed_drop", hidden({ deadlineMs: 60_000 }));
  const victim = await startVictim();
  const members = run.members.map((member) => (member.id === "p2" ? { ...member, url: victim.url } : member));
  before = async (path, url) => {
    if (url === victim.url && path.endsWith("/masked")) await victim.stop();
  };
  await runRound({ ...run, members });
  const [record] = kept.commits as [RoundRecord];
  expect(record.updates).toHaveLength(3);
  expect(kept.round?.participants.find(({ participantId }) => participantId === "p2")).toMatchObject({
    state: "failed",
    reason: expect.stringContaining("cannot be reached"),
    updateBlob: "",
  });
  await expectSame(record.result, await plainMean("fed_three", ["p1", "p3", "p4"]));
  expect(Buffer.from(await remakeMasked(run.deps, record, run.signal))).toEqual(await blobs.read(record.result));
});

test("one that goes away after it sent what it masked is in the sum; the others take its masks off", async () => {
  const { run, kept } = open("fed_late", hidden({ deadlineMs: 2500 }));
  const victim = await startVictim();
  const members = run.members.map((member) => (member.id === "p4" ? { ...member, url: victim.url } : member));
  before = async (path, url) => {
    if (url === victim.url && path.endsWith("/help")) await victim.stop();
  };
  await runRound({ ...run, members });
  expect(kept.commits[0]?.updates).toHaveLength(PLACES);
  await expectSame(kept.commits[0]?.result as string, await plainMean("fed_four", EVERYBODY));
});

test("a round of two is not masked, and says how many must remain", async () => {
  const { run, kept } = open("fed_two", hidden({ fraction: 0.5, minResults: 1 }));
  await expect(runRound(run)).rejects.toMatchObject({
    code: "NOT_ENOUGH_RESULTS",
    message: "Round 1 has 2 participants left that mask, and 3 must remain, because two could compute each other's update.",
  });
  expect(kept.commits).toEqual([]);
});

test.each([
  ["before the round", "", "2 participants left that mask"],
  ["before it sends its shares", "/shares", "2 participants left that mask"],
  ["before it sends what it masked", "/masked", "2 masked updates"],
])(
  "three participants cannot lose one: if it dies %s, the round fails within seconds and says how many must remain, and why one is missing",
  async (_when, step, left) => {
    const { run, kept } = open(`fed_three_${step.slice(1)}`, { secureAggregation: true, deadlineMs: 60_000 });
    const victim = await startVictim();
    const members = run.members.slice(0, 3).map((member) => (member.id === "p3" ? { ...member, url: victim.url } : member));
    before = async (path, url) => {
      if (url === victim.url && path.endsWith(step)) await victim.stop();
    };
    const beganMs = clock.monotonicMs();
    await expect(runRound({ ...run, members })).rejects.toMatchObject({
      code: "NOT_ENOUGH_RESULTS",
      message: expect.stringMatching(new RegExp(`^Round 1 has ${left}.* 3 .*must .*p3: it cannot be reached: `)),
    });
    expect(clock.monotonicMs() - beganMs).toBeLessThan(15_000);
    expect(kept.commits).toEqual([]);
  },
  70_000,
);

test("below the threshold nothing comes out, and it is said why", async () => {
  const { run, kept } = open("fed_few", {
    ...hidden({ deadlineMs: 1500, minResults: 1 }),
    secureAggregation: { threshold: 1, range: RANGE },
  });
  const victim = await startVictim();
  const members = run.members.map((member) => (member.id === "p1" ? { ...member, url: victim.url } : member));
  before = async (path, url) => {
    if (url === victim.url && path.endsWith("/masked")) await victim.stop();
  };
  await expect(runRound({ ...run, members })).rejects.toMatchObject({
    code: "NOT_ENOUGH_RESULTS",
    message: expect.stringMatching(/^Round 1 has 3 masked updates; 4 of its 4 participants must take part until the end\. p1: /),
  });
  expect(kept.commits).toEqual([]);
});

test("a coordinator that dies after two updates asks in the same words, and for those two not again", async () => {
  const { run, kept } = open("fed_dead", hidden({ deadlineMs: 20_000 }));
  const died = new AbortController();
  const control: FederationControl = {
    ...run.control,
    recordResult: async (round, result) => {
      if (kept.round?.participants.filter(({ state }) => state === "accepted").length === 2) died.abort(new Error("killed"));
      died.signal.throwIfAborted();
      return run.control.recordResult(round, result);
    },
  };
  await expect(runRound({ ...run, control, signal: died.signal })).rejects.toThrow();
  asked.length = 0;
  await runRound(run);
  expect(asked.filter((path) => path.endsWith("/train") || path.endsWith("/shares"))).toEqual([]);
  expect(asked.filter((path) => path.endsWith("/masked"))).toHaveLength(2);
  await expectSame(kept.commits[0]?.result as string, await plainMean("fed_alive", EVERYBODY));
});

/** The coordinator's tools, with participants that declare other samples than they have. */
const declaring = (declared: Readonly<Record<string, number>>): typeof secure => ({
  ...secure,
  participants: {
    ...secure.participants,
    train: async (node, place, ...rest) => {
      const one = await secure.participants.train(node, place, ...rest);
      const samples = declared[place.client];
      return samples === undefined ? one : { ...one, samples };
    },
  },
});

test.each([
  ["twice as many samples goes away masked: the mean is that of the others", 800, "/masked"],
  ["a million times as many goes away before: the mean is that of the others", 300_000_000, "/shares"],
])(
  "where the participant of %s",
  async (_what, samples, step) => {
    const { run, kept } = open(`fed_heavy_${samples}_${step.slice(1)}`, hidden({ deadlineMs: 60_000 }));
    const victim = await startVictim();
    const members = run.members.map((member) => (member.id === "p4" ? { ...member, url: victim.url } : member));
    before = async (path, url) => {
      if (url === victim.url && path.endsWith(step)) await victim.stop();
    };
    await runRound({ ...run, members, deps: { ...run.deps, secure: declaring({ p4: samples }) } });
    await expectSame(kept.commits[0]?.result as string, await plainMean(`${run.federation.id}_plain`, ["p1", "p2", "p3"]), 1e-5);
  },
  60_000,
);

test.each([
  [
    "one declares samples and the others none",
    { p1: 100, p2: 0, p3: 0, p4: 0 },
    /^Round 1 has 4 masked updates, and 1 of them .*: p1 \(100\)/,
  ],
  [
    "one declares a million times as many as the others",
    { p1: 1, p2: 1e6, p3: 1, p4: 1 },
    /^Round 1 has participants .*: p2 declares 1000000, /,
  ],
  [
    "one has too few to be exact",
    { p1: 1, p2: 1e9, p3: 1e9, p4: 1e9 },
    /^Round 1 has participants whose samples are too far apart .*: p1 has 1, /,
  ],
])("a round ends before updates are masked where %s", async (_what, declared, problem) => {
  const { run, kept } = open(`fed_apart_${declared.p1}_${declared.p2}`, hidden());
  const deps = { ...run.deps, secure: declaring(declared) };
  await expect(runRound({ ...run, deps })).rejects.toMatchObject({
    code: "NOT_ENOUGH_RESULTS",
    message: expect.stringMatching(problem),
  });
  expect([kept.commits, asked.filter((path) => path.endsWith("/masked"))]).toEqual([[], []]);
});

test("a round whose remaining participants would show one update ends before it is unmasked", async () => {
  const { run, kept } = open("fed_shown", hidden({ deadlineMs: 60_000 }));
  const victim = await startVictim();
  const members = run.members.map((member) => (member.id === "p4" ? { ...member, url: victim.url } : member));
  before = async (path, url) => {
    if (url === victim.url && path.endsWith("/masked")) await victim.stop();
  };
  const deps = { ...run.deps, secure: declaring({ p1: 100, p2: 100, p3: 0, p4: 100 }) };
  await expect(runRound({ ...run, members, deps })).rejects.toMatchObject({
    code: "NOT_ENOUGH_RESULTS",
    message: expect.stringMatching(/^Round 1 has 3 masked updates, and 2 of them .*p4: it cannot be reached/),
  });
  expect([kept.commits, asked.filter((path) => path.endsWith("/help"))]).toEqual([[], []]);
}, 60_000);

const LARGE = Array.from({ length: 2 * RANGE }, () => ({ a: 1, y: 0 }));
const statistics = { task: { name: "statistics", config: { columns: [0], bounds: [[0, 2]], bins: 2 } } };

test.each(["its numbers are beyond the range", "it restarts after its secrets were shared"])(
  "a secure round that failed because of one participant is trained and masked anew when it is opened again: %s",
  async (why) => {
    const { run, kept } = open(`fed_again_${why.length}`, { ...statistics, ...hidden({ deadlineMs: 20_000 }) });
    const isRange = why.includes("range");
    const victim = await startVictim();
    const members = run.members.slice(0, 3).map((member) => ({ ...member, dataset: JSON.stringify(LARGE.slice(0, 2)) }));
    const [p1, p2, p3] = members as [Participant, Participant, Participant];
    const failing = isRange ? { ...p3, dataset: JSON.stringify(LARGE) } : { ...p3, url: victim.url };
    before = async (path, url) => {
      if (url === victim.url && path.endsWith("/masked")) await victim.stop();
    };
    await expect(runRound({ ...run, members: [p1, p2, failing] })).rejects.toMatchObject({
      code: "NOT_ENOUGH_RESULTS",
      message: expect.stringContaining(isRange ? "p3: it answered 422" : "p3: it cannot be reached"),
    });
    // As `extend` does: the abandoned round is opened again.
    kept.round = undefined;
    asked.length = 0;
    await runRound({ ...run, members: [p1, p2, p3] });
    expect(kept.commits[0]?.updates).toHaveLength(3);
    expect(asked.filter((path) => path.endsWith("/train"))).toHaveLength(3);
  },
  60_000,
);

test("a server's optimizer steps from the unmasked mean as it does from plain updates", async () => {
  const base = await plainMean("fed_base", EVERYBODY);
  const strategy = { strategy: { name: "fedadam", lr: 0.05 } };
  const { run, kept } = open("fed_adam", hidden(strategy), { headBlob: base });
  await runRound(run);
  const [record] = kept.commits as [RoundRecord];
  expect(record.strategy).toMatchObject({ name: "fedadam", lr: 0.05, secure: { proof: expect.stringMatching(/^[0-9a-f]{64}$/) } });
  const plain = await valuesOf(await plainMean("fed_adam_plain", EVERYBODY, { headBlob: base }, strategy));
  const mine = await valuesOf(record.result);
  // Adam divides by the size of the step: what is nearly nothing is blown up, so most and not all are the same.
  expect(mine.filter((value, index) => Math.abs(value - (plain[index] as number)) < 1e-3).length).toBeGreaterThan(0.95 * mine.length);
  expect(Buffer.from(await remakeMasked(run.deps, record, run.signal))).toEqual(await blobs.read(record.result));
});

test.each([
  [{ task: "statistics", columns: [0, 1], bounds: [0, 9] }, "count", ["introduction", "layout"]],
  [{ task: "linear" }, "linear.weight", ["introduction", "layout", "num_samples"]],
])("what a participant sends in the clear beside its masked update has no figure of its rows: %j", async (config, tensor, sent) => {
  const dataset = [
    { a: 1, label: 3 },
    { a: 5, label: 7 },
  ];
  const path = `/v1/secure/clear-${config.task}/p1/train`;
  const response = await fetch(`${nodes[0]?.url}${path}`, { method: "POST", body: JSON.stringify({ dataset, config }) });
  const answer = (await response.json()) as { layout: readonly object[] };
  expect([response.status, answer.layout]).toEqual([200, expect.arrayContaining([expect.objectContaining({ name: tensor })])]);
  expect(Object.keys(answer).sort()).toEqual(sent);
});

test("a node tells nothing twice in other words, and helps with nothing that a few could be read from", async () => {
  const { run } = open("fed_words", hidden());
  const place = { round: "fed_words/1", client: "p1" };
  const [node] = run.members as [Participant];
  const { participants } = secure;
  const introductions = await Promise.all(
    run.members.slice(0, 3).map(async (member) => {
      const trained = {
        parameters: "",
        dataset: JSON.parse(member.dataset),
        config: { task: "softmax", seed: 1 },
        key: "k",
        roundId: place.round,
        clientId: "p1",
      };
      return (await participants.train(member, { ...place, client: member.id }, trained, run.signal)).introduction;
    }),
  );
  const sharesRequest = { everybody: introductions, threshold: 2 };
  const masked = (partners: string[]) => ({ partners, factor: 1, range: RANGE, bytes: 650 * 4 });
  await expect(participants.masked(node, place, masked(["p1", "p2"]), run.signal)).rejects.toThrow("409");
  await expect(participants.shares(node, place, { ...sharesRequest, threshold: 1 }, run.signal)).rejects.toThrow("422");
  const shares = await participants.shares(node, place, sharesRequest, run.signal);
  expect(await participants.shares(node, place, sharesRequest, run.signal)).toEqual(shares);
  await expect(participants.shares(node, place, { ...sharesRequest, threshold: 3 }, run.signal)).rejects.toThrow("409");
  const first = await participants.masked(node, place, masked(["p1", "p2", "p3"]), run.signal);
  expect(await participants.masked(node, place, masked(["p1", "p2", "p3"]), run.signal)).toEqual(first);
  await expect(participants.masked(node, place, masked(["p1", "p2"]), run.signal)).rejects.toThrow("another body");
  const mine = { p1: shares["p1"] as string };
  await expect(participants.help(node, place, { inSum: ["p1"], shares: mine }, run.signal)).rejects.toThrow("below the threshold");
  await expect(participants.help(node, { ...place, client: "p9" }, { inSum: ["p1"], shares: mine }, run.signal)).rejects.toThrow(
    "nothing of that round",
  );
  const invented = { inSum: ["p1", "p8", "p9"], shares: mine };
  await expect(participants.help(node, place, invented, run.signal)).rejects.toThrow("p8 is not a partner");
  // Once it has helped it has nothing to tell any more.
  const received = await Promise.all(
    run.members.slice(0, 3).map(async (member) => {
      const theirs = await participants.shares(member, { ...place, client: member.id }, sharesRequest, run.signal);
      return [member.id, theirs["p1"] as string] as const;
    }),
  );
  const help = { inSum: ["p1", "p2", "p3"], shares: Object.fromEntries(received) };
  const helped = await participants.help(node, place, help, run.signal);
  expect(Object.keys(helped.own_masks)).toEqual(["p1", "p2", "p3"]);
  expect(await participants.help(node, place, help, run.signal)).toEqual(helped);
  await expect(participants.help(node, place, { ...help, inSum: ["p1", "p2"] }, run.signal)).rejects.toThrow("another body");
  await expect(participants.masked(node, place, masked(["p1", "p2", "p3"]), run.signal)).rejects.toThrow("its update is gone");
});
