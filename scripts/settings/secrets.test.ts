import type { z } from "zod";
import { isSecret } from "../../common/secret-files.ts";
import { PROCESSES } from "./processes.ts";

/** Parts of names of which a reader expects a secret. */
const LOOKS_SECRET = /(^|_)(SECRET|TOKEN|PASSWORD|URI)(_|$)|_KEY(_|$)|^(SMTP|REDIS)_URL$/;
/** It is the path of a file itself. */
const PATHS = ["TLS_KEY"];

const declared = Object.entries(PROCESSES).flatMap(([process, shape]) =>
  Object.entries(shape).map(([name, schema]) => ({ process, name, secret: isSecret(schema as z.ZodType) })),
);

test("every setting that is a secret can be in a file, in every process that reads it", () => {
  const named = declared.filter(({ name }) => LOOKS_SECRET.test(name) && !PATHS.includes(name));
  expect(named.filter(({ secret }) => !secret)).toEqual([]);
  expect(new Set(named.map(({ name }) => name)).size).toBeGreaterThanOrEqual(18);
  const secrets = new Set(declared.filter(({ secret }) => secret).map(({ name }) => name));
  expect(declared.filter(({ name, secret }) => secrets.has(name) && !secret)).toEqual([]);
});

test("no variable of a secret's file is a setting of its own", () => {
  const names = new Set(declared.map(({ name }) => name));
  expect([...names].filter((name) => name.endsWith("_FILE"))).toEqual([]);
});
