import { PrimaryPress } from "./primary-press.ts";

const event = (button: number, pointerId = 1) => ({ button, pointerId });

test("only the primary button, pressed and released here with the same pointer, is a click", () => {
  const press = new PrimaryPress();
  expect([press.begin(event(0)), press.end(event(0))]).toEqual([true, true]);
  // The release of a press that began elsewhere.
  expect(press.end(event(0))).toBe(false);
  expect([press.begin(event(2)), press.end(event(2))]).toEqual([false, false]);
  press.begin(event(0));
  expect(press.end(event(0, 2))).toBe(false);
  press.begin(event(0));
  // The right button was released last.
  expect([press.end(event(2)), press.end(event(0))]).toEqual([false, false]);
  press.begin(event(0));
  press.cancel();
  expect(press.end(event(0))).toBe(false);
});
