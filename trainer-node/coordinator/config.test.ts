import { advertisedAddress, readCoordinatorConfig } from "./config.ts";

const problemOf = (environment: Record<string, string>): string => {
  try {
    readCoordinatorConfig(environment);
    return "";
  } catch (thrown) {
    return String(thrown);
  }
};
const S3 = { BLOBS_S3_BUCKET: "training", AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
const PEERS = { COORDINATOR_PEERS: "http://127.0.0.1:5101" };

test("one way to copy blobs may be set, with all that it needs", () => {
  for (const way of [{}, S3, PEERS, { BLOBS_FOLDER: "/mnt/blobs" }]) expect(problemOf(way)).toBe("");
  expect(problemOf({ ...S3, ...PEERS })).toContain("BLOBS_S3_BUCKET, COORDINATOR_PEERS: set one of them");
  expect(problemOf({ BLOBS_S3_BUCKET: "training" })).toContain(
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: must be set with BLOBS_S3_BUCKET",
  );
  expect(problemOf({ ...S3, BLOBS_S3_PREFIX: "training/here/" })).toBe("");
  for (const prefix of ["training", "../", "/"])
    expect(problemOf({ ...S3, BLOBS_S3_PREFIX: prefix })).toContain("BLOBS_S3_PREFIX: must be empty, or names that each end in a slash");
});

test("without TLS, another machine's address is no peer: the token would be sent to it in the clear", () => {
  for (const address of ["http://co-2.example.org:5100", "https://co-2.example.org:5100", "127.0.0.1:5101"])
    expect(problemOf({ COORDINATOR_PEERS: address })).toContain(`COORDINATOR_PEERS: ${address} must be http://127.0.0.1:port`);
});

test("edges are told the address that is set, or the one that the coordinator listens on", () => {
  const own = { host: "127.0.0.1", tls: undefined };
  expect(advertisedAddress(own, 5100)).toBe("http://127.0.0.1:5100");
  expect(advertisedAddress({ ...own, tls: {}, host: "::1" }, 5100)).toBe("https://[::1]:5100");
  expect(advertisedAddress({ ...own, host: "0.0.0.0" }, 5100)).toBe("");
  expect(advertisedAddress({ ...own, host: "0.0.0.0", coordinatorAdvertise: "https://co:5100" }, 5100)).toBe("https://co:5100");
  expect(problemOf({ COORDINATOR_ADVERTISE: "https://co/path" })).toContain("COORDINATOR_ADVERTISE");
});
