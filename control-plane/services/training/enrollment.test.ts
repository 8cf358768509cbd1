import { openPlatform, outcomeOf, type Platform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const ANYBODY = "anonymous" as const;
const LOCAL_NOISE = { dp: { mode: "local", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 } };

const training = () => trainingHandlers(platform.deps);
async function create(settings: object = {}) {
  const request = {
    name: "f",
    teamId: platform.team.id,
    settings: JSON.stringify({ task: {}, enrollment: "open", ...settings }),
    participants: [],
    budgetNanoUsd: 0n,
  };
  const { federation, joinLink = "", joinTokens } = await training().createFederation(request, platform.as("owner"));
  return { id: federation?.id ?? "", link: joinLink, joinTokens };
}
const enroll = (token: string, { capabilities = "", maxSamples }: { capabilities?: string; maxSamples?: bigint } = {}) =>
  training().enrollParticipant({ token, capabilities, maxSamples }, platform.as(ANYBODY));
const poll = (token: string) => training().joinFederation({ token, blob: "", capabilities: "" }, platform.as(ANYBODY));
const leave = (token: string) => training().leaveFederation({ token }, platform.as(ANYBODY));
const participantsOf = async (id: string) => (await training().getFederation({ id }, platform.as("member"))).federation?.participants ?? [];

test("an open federation has a join link, by which everybody gets a place and a token of its own", async () => {
  const { id, link, joinTokens } = await create();
  expect([link, joinTokens]).toEqual([expect.stringMatching(/^join_[A-Za-z0-9_-]{40,}$/), []]);
  const [first, second] = [await enroll(link), await enroll(link)];
  expect([first, second]).toMatchObject([
    { federationId: id, participantId: "p1" },
    { federationId: id, participantId: "p2" },
  ]);
  expect(new Set([link, first.token, second.token]).size).toBe(3);
  expect([await poll(first.token), await poll(second.token)]).toMatchObject([{ participantId: "p1" }, { participantId: "p2" }]);
  expect((await participantsOf(id)).map(({ id: place, joined }) => [place, joined])).toEqual([
    ["p1", true],
    ["p2", true],
  ]);
  const { events } = await training().listEvents({ federationId: id, after: 0n, limit: 10 }, platform.as("owner"));
  expect(events.map(({ type }) => type)).toEqual(["federation.created", "participant.joined", "participant.joined"]);
});

test("a federation with listed participants has no link, and needs one of them", async () => {
  const listed = await training().createFederation(
    { name: "f", teamId: platform.team.id, settings: "{}", participants: [{ url: "", join: true, dataset: "" }], budgetNanoUsd: 0n },
    platform.as("owner"),
  );
  expect(listed.joinLink).toBeUndefined();
  const [token = ""] = listed.joinTokens;
  expect(await enroll(token)).toMatchObject({ participantId: "p1", token });
  expect(await outcomeOf(create({ enrollment: "listed" }))).toBe("VALIDATION_ERROR");
});

test("the link itself gets no work, and an unknown one gets no place", async () => {
  const { link } = await create();
  await expect(poll(link)).rejects.toMatchObject({ code: "UNAUTHORIZED", message: expect.stringContaining("POST /training/join") });
  expect([await outcomeOf(enroll("join_none")), await outcomeOf(leave(link))]).toEqual(["UNAUTHORIZED", "UNAUTHORIZED"]);
});

test("a full federation takes nobody until somebody leaves, who comes back when there is room", async () => {
  const { id, link } = await create({ maxParticipants: 2 });
  const first = await enroll(link);
  const second = await enroll(link);
  await expect(enroll(link)).rejects.toMatchObject({
    code: "RECORD_CHANGED",
    message: expect.stringContaining("is full: it has 2 of at most 2"),
  });
  await leave(first.token);
  const third = await enroll(link);
  expect(third.participantId).toBe("p3");
  expect(await outcomeOf(poll(first.token))).toBe("RECORD_CHANGED");
  await leave(second.token);
  expect(await poll(first.token)).toMatchObject({ participantId: "p1" });
  expect((await participantsOf(id)).map(({ joined }) => joined)).toEqual([true, false, true]);
});

test("places are given one by one also to those that ask at the same time", async () => {
  const { link } = await create({ maxParticipants: 3 });
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => outcomeOf(enroll(link))));
  expect(outcomes.toSorted()).toEqual(["RECORD_CHANGED", "RECORD_CHANGED", "RECORD_CHANGED", "ok", "ok", "ok"]);
});

test("a federation that has ended takes nobody", async () => {
  const { id, link } = await create();
  await training().controlFederation({ id, action: "stop" }, platform.as("owner"));
  await expect(enroll(link)).rejects.toMatchObject({ code: "RECORD_CHANGED", message: expect.stringContaining("has ended") });
});

test("whoever cannot honor the federation's privacy gets no place", async () => {
  const { id, link } = await create(LOCAL_NOISE);
  expect(await outcomeOf(enroll(link))).toBe("VALIDATION_ERROR");
  expect(await participantsOf(id)).toEqual([]);
  expect(await enroll(link, { capabilities: "clip,noise" })).toMatchObject({ participantId: "p1" });
});

test("a participant agrees to a number of samples, at most the federation's", async () => {
  const { id, link } = await create({ maxSamples: 100 });
  const agreed = [undefined, 40n, 1_000_000n];
  const places = [];
  for (const maxSamples of agreed) places.push(await enroll(link, maxSamples === undefined ? {} : { maxSamples }));
  expect(places.map(({ maxSamples }) => maxSamples)).toEqual([100n, 40n, 100n]);
  expect((await participantsOf(id)).map(({ maxSamples }) => maxSamples)).toEqual([100n, 40n, 100n]);
});

const MINUTE_MS = 60_000;

test("a participant whose process is gone gives up its place when another one asks, and comes back when there is room", async () => {
  const { id, link } = await create({ maxParticipants: 2, deadlineMs: 10 * MINUTE_MS });
  const [gone, there] = [await enroll(link), await enroll(link)];
  // Longer than a round and what is between calls. The other one calls on.
  for (let minutes = 0; minutes < 26; minutes += 2) {
    await platform.advance(2 * MINUTE_MS);
    await poll(there.token);
  }
  const third = await enroll(link);
  expect((await participantsOf(id)).map(({ id: place, joined }) => [place, joined])).toEqual([
    ["p1", false],
    ["p2", true],
    ["p3", true],
  ]);
  expect(await outcomeOf(poll(gone.token))).toBe("RECORD_CHANGED");
  await leave(third.token);
  expect(await poll(gone.token)).toMatchObject({ participantId: "p1" });
  const { events } = await training().listEvents({ federationId: id, after: 0n, limit: 20 }, platform.as("owner"));
  const [taken] = events.filter(({ type }) => type === "participant.left");
  expect(JSON.parse(taken?.data ?? "{}")).toEqual({ participantId: "p1" });
});

test("a participant that trains keeps its place until the deadline of a round and a quarter of an hour have passed without a call", async () => {
  const { link } = await create({ maxParticipants: 1, deadlineMs: 60 * MINUTE_MS });
  const first = await enroll(link);
  await platform.advance(74 * MINUTE_MS);
  expect(await outcomeOf(enroll(link))).toBe("RECORD_CHANGED");
  expect(await outcomeOf(poll(first.token))).toBe("ok");
  await platform.advance(74 * MINUTE_MS);
  expect(await outcomeOf(enroll(link))).toBe("RECORD_CHANGED");
  await platform.advance(2 * MINUTE_MS);
  expect(await outcomeOf(enroll(link))).toBe("ok");
});
