import { placeOf } from "./place.ts";

/** The host as a URL normalizes it. */
const hostOf = (text: string) => new URL(`http://${text}/`).hostname;

test.each([
  "127.0.0.1",
  "127.1",
  "0x7f.1",
  "2130706433",
  "017700000001",
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::1]",
  "[::]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:10.0.0.1]",
  "[64:ff9b::10.0.0.1]",
  "[64:ff9b:1::1]",
  "[2002:7f00:1::]",
  "[2001:0:1::]",
  "[fc00::1]",
  "[fd12:3456::1]",
  "[fec0::1]",
  "[ff02::1]",
  "localhost",
  "a.localhost",
  "printer.local",
  "db.internal",
  "intranet",
])("ssrf: %s is private", (text) => expect(placeOf(hostOf(text))).toBe("private"));

test.each(["169.254.169.254", "[::ffff:169.254.169.254]", "0xa9fea9fe", "[fe80::1]", "[fd00:ec2::254]", "metadata.google.internal"])(
  "ssrf: %s is link-local",
  (text) => expect(placeOf(hostOf(text))).toBe("link-local"),
);

test.each(["8.8.8.8", "172.32.0.1", "[2606:4700::1]", "hooks.example.org"])("%s is public", (text) =>
  expect(placeOf(hostOf(text))).toBe("public"),
);

test("addresses as a look-up prints them, with dots or the name of an interface, are judged alike", () => {
  expect(placeOf("::ffff:127.0.0.1")).toBe("private");
  expect(placeOf("::ffff:169.254.169.254")).toBe("link-local");
  expect(placeOf("fe80::1%eth0")).toBe("link-local");
  expect(placeOf("::ffff:8.8.8.8")).toBe("public");
});
