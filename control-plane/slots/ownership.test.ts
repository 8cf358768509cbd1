import { type SimulatedPlane, SimulatedPlanes } from "./simulated-planes-fixture.ts";

const COUNT = 16;
const SLOTS = Array.from({ length: COUNT }, (_, slot) => slot);

/** No two planes may grant anything of one slot at the same time. */
function oneOwner(world: SimulatedPlanes): void {
  for (const slot of SLOTS) {
    const owners = world.owners(slot);
    if (owners.length > 1) {
      throw new Error(`at ${world.nowMs} ms the slot ${slot} has the owners ${owners.map(({ slots }) => slots.self.id).join(", ")}`);
    }
  }
}

const world = (seed = 1) => new SimulatedPlanes({ count: COUNT, seed, check: oneOwner });
const ownedBy = ({ slots }: SimulatedPlane) => SLOTS.filter((slot) => slots.isOwned(slot));
const expectAllOwned = (planes: SimulatedPlanes) => expect(SLOTS.filter((slot) => planes.owners(slot).length !== 1)).toEqual([]);

test("one plane owns every slot at once, under its first epoch", async () => {
  const planes = world();
  const a = planes.start("a");
  await planes.advance(3_000);
  expect(ownedBy(a)).toEqual(SLOTS);
  expect(a.slots.epochOf(0)).toBe(1);
});

test("a second plane gets its share after edges had time to connect, and both know the owners", async () => {
  const planes = world();
  const a = planes.start("a");
  await planes.advance(3_000);
  const b = planes.start("b");
  await planes.advance(2_000);
  expect(ownedBy(b)).toEqual([]);
  await planes.advance(8_000);
  expectAllOwned(planes);
  expect(ownedBy(b).length).toBeGreaterThan(2);
  for (const slot of SLOTS) expect(a.slots.ownerOf(slot)).toEqual(b.slots.ownerOf(slot));
  expect(a.slots.planes()).toHaveLength(2);
});

test("a plane that is terminated hands its slots over without a wait for its silence", async () => {
  const planes = world();
  const a = planes.start("a");
  planes.start("b");
  await planes.advance(10_000);
  const drained: string[] = [];
  const slot = ownedBy(a)[0] ?? -1;
  void a.slots.leave(async () => {
    // What is queued may still be committed, and nothing new is granted.
    drained.push(`${a.slots.isOwned(slot)} ${a.slots.epochOf(slot) !== undefined}`);
  });
  await planes.advance(3_500);
  expect(drained).toEqual(["false true"]);
  expectAllOwned(planes);
  expect(ownedBy(a)).toEqual([]);
});

test("the slots of a killed plane have another owner after five seconds, with a higher epoch", async () => {
  const planes = world();
  const a = planes.start("a");
  const b = planes.start("b");
  await planes.advance(10_000);
  const lost = ownedBy(a);
  const before = lost.map((slot) => a.slots.epochOf(slot) ?? 0);
  a.isDead = true;
  await planes.advance(4_000);
  expect(lost.filter((slot) => b.slots.isOwned(slot))).toEqual([]);
  await planes.advance(6_000);
  expectAllOwned(planes);
  for (const [place, slot] of lost.entries()) expect(b.slots.epochOf(slot)).toBeGreaterThan(before[place] ?? 0);
});

test("a paused plane that wakes owns nothing until it has taken slots again, and what it had in memory is dropped", async () => {
  const planes = world();
  const a = planes.start("a");
  const b = planes.start("b");
  await planes.advance(10_000);
  const had = ownedBy(a);
  const lost = new Set<number>();
  a.slots.onLost((slots) => {
    for (const slot of slots) lost.add(slot);
  });
  a.isPaused = true;
  await planes.advance(4_500);
  // It does not run yet, but it would answer so.
  expect(ownedBy(a)).toEqual([]);
  await planes.advance(6_000);
  expect(ownedBy(b)).toEqual(SLOTS);
  a.isPaused = false;
  await planes.advance(200);
  expect(had.filter((slot) => !lost.has(slot))).toEqual([]);
  await planes.advance(15_000);
  expectAllOwned(planes);
  expect(ownedBy(a).length).toBeGreaterThan(0);
});

test("a plane that cannot reach the store owns nothing after four seconds, although nobody else lives", async () => {
  const planes = world();
  const a = planes.start("a");
  await planes.advance(5_000);
  a.isCutOff = true;
  await planes.advance(2_000);
  expect(ownedBy(a)).toEqual(SLOTS);
  await planes.advance(3_000);
  expect(ownedBy(a)).toEqual([]);
  expect(a.slots.ownerOf(0)).toBeUndefined();
  a.isCutOff = false;
  await planes.advance(5_000);
  expect(ownedBy(a)).toEqual(SLOTS);
});

const FAULTS: readonly ((plane: SimulatedPlane, planes: SimulatedPlanes) => void)[] = [
  (plane) => void Object.assign(plane, { isPaused: true }),
  (plane) => void Object.assign(plane, { isPaused: false }),
  (plane) => void Object.assign(plane, { isCutOff: true }),
  (plane) => void Object.assign(plane, { isCutOff: false }),
  (plane) => void Object.assign(plane, { isDead: true }),
  (plane) => void plane.slots.leave(async () => {}),
  (_plane, planes) => void planes.start(`later-${planes.planes.length}`),
];

test.each(Array.from({ length: 12 }, (_, seed) => seed))("random faults never give a slot two owners (seed %i)", async (seed) => {
  const planes = world(seed * 7919);
  for (const id of ["a", "b", "c"]) planes.start(id);
  for (let step = 0; step < 25; step++) {
    await planes.advance(200 + planes.random(4_000));
    const plane = planes.planes[planes.random(planes.planes.length)];
    if (plane && !plane.isDead) FAULTS[planes.random(FAULTS.length)]?.(plane, planes);
  }
  for (const plane of planes.planes) {
    plane.isPaused = false;
    plane.isCutOff = false;
  }
  planes.start("last");
  await planes.advance(20_000);
  expectAllOwned(planes);
});
