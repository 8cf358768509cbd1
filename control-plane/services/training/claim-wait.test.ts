import { systemClock } from "../../../common/clock.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
let training: ReturnType<typeof trainingHandlers>;
beforeEach(async () => {
  platform = await openPlatform();
  training = trainingHandlers({ ...platform.deps, clock: { ...platform.deps.clock, monotonicMs, sleep } });
});
afterEach(() => platform.close());

const { monotonicMs, sleep } = systemClock;
const asked = () => platform.as("anonymous");
const create = async () => {
  const participants = [{ url: "", join: true, dataset: "" }];
  const request = { name: "f", teamId: platform.team.id, settings: "{}", participants, budgetNanoUsd: 0n };
  return (await training.createFederation(request, platform.as("owner"))).federation?.id;
};
/** A claim that would wait for 10 s unless told otherwise. */
const claim = (name: string, { signal = new AbortController().signal, waitMs = 10_000 } = {}) =>
  training.claimFederations(
    { claim: name, leaseMs: 60_000n, limit: 1, except: [], address: "", waitMs, lookMs: 10 },
    { ...asked(), signal },
  );

test("a claim waits for a federation that does not exist yet, and one coordinator gets it", async () => {
  const leaving = new AbortController();
  const claims = [claim("a", leaving), claim("b", leaving)];
  const id = await create();
  const first = await Promise.race(claims);
  expect(first.work.map(({ federation }) => federation?.id)).toEqual([id]);
  leaving.abort();
  const works = (await Promise.all(claims)).map(({ work }) => work.length);
  expect(works.sort()).toEqual([0, 1]);
});

test("nothing is claimed for a coordinator that has left", async () => {
  const leaving = new AbortController();
  const left = claim("a", leaving);
  leaving.abort();
  const id = await create();
  expect((await left).work).toEqual([]);
  expect((await claim("b")).work.map(({ federation }) => federation?.id)).toEqual([id]);
});

test("a federation that a coordinator releases is not claimed by its own claim that waits, but by others", async () => {
  const id = (await create()) ?? "";
  await claim("first");
  const waiting = claim("second", { waitMs: 200 });
  await training.releaseFederation({ federationId: id, claim: "first", waitingFor: "blobs", waitingClaim: "second" }, asked());
  expect((await waiting).work).toEqual([]);
  expect((await claim("of another")).work.map(({ federation }) => federation?.id)).toEqual([id]);
});

test("a control plane that stops does not wait for work", async () => {
  const waiting = claim("a");
  platform.deps.feed.stop();
  expect((await waiting).work).toEqual([]);
});
