import { placeOf } from "./rendezvous.ts";

const SLOTS = Array.from({ length: 256 }, (_, slot) => slot);
const placesOf = (planes: readonly string[]) => SLOTS.map((slot) => placeOf(slot, planes));

test("each of three planes gets about a third, whatever order they are listed in", () => {
  const places = placesOf(["a", "b", "c"]);
  for (const id of ["a", "b", "c"]) {
    const share = places.filter((place) => place === id).length;
    expect(share).toBeGreaterThan(60);
    expect(share).toBeLessThan(111);
  }
  expect(placesOf(["c", "a", "b"])).toEqual(places);
});

test("a plane that goes moves only its own slots", () => {
  const before = placesOf(["a", "b", "c"]);
  const after = placesOf(["a", "c"]);
  expect(SLOTS.filter((slot) => before[slot] !== "b" && before[slot] !== after[slot])).toEqual([]);
});

test("without a plane there is no place", () => {
  expect(placeOf(0, [])).toBeUndefined();
});
