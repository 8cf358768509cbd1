import { isLoopback } from "./loopback-only.ts";

test.each([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["fe80::1", false],
  ["127.evil.example", false],
  [undefined, false],
])("a caller at %s is on this machine: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});
