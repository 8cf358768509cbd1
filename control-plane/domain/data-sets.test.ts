import { epsilonOfRho, rhoOfRound } from "../../common/training/privacy-account.ts";
import { accountName, dataSetUses } from "./data-sets.ts";
import type { FederationParticipant } from "./training-records.ts";

const place = (id: string, dataset: unknown): FederationParticipant => ({
  id,
  nodeId: id,
  url: `http://${id}`,
  organizationId: "o",
  dataset: dataset === undefined ? "" : JSON.stringify(dataset),
  joined: true,
  sealedSecret: "",
});
const part = (index: number, of = 2) => ({ name: "digits", partition: { scheme: "iid", index, of } });

test("parts of one partition are used once together; the same rows twice, and other ways to part them, count again", () => {
  const uses = (...datasets: unknown[]) => {
    const places = datasets.map((dataset, index) => place(`p${index + 1}`, dataset));
    return Object.fromEntries(dataSetUses(places, { shared: undefined, chosen: new Set(places.map(({ id }) => id)) }));
  };
  expect(uses(part(0), part(1))).toEqual({ digits: 1 });
  expect(uses(part(0), part(0), part(1))).toEqual({ digits: 2 });
  expect(uses(part(0), part(0, 3))).toEqual({ digits: 2 });
  expect(uses("digits", "digits", "faces")).toEqual({ digits: 2, faces: 1 });
  expect(uses(undefined, undefined)).toEqual({ "http://p1": 1, "http://p2": 1 });
  expect(Object.values(uses([{ a: 1 }], [{ a: 1 }], [{ a: 2 }]))).toEqual([2, 1]);
});

test("rows that a participant has of its own count for its address, whatever the request says of them without naming a data set", () => {
  const uses = (...datasets: unknown[]) => {
    const places = datasets.map((dataset, index) => ({ ...place(`p${index + 1}`, dataset), url: "http://clinic" }));
    return Object.fromEntries(dataSetUses(places, { shared: { table: "patients" }, chosen: new Set(places.map(({ id }) => id)) }));
  };
  const [first, second] = [0, 1].map((index) => ({ partition: { scheme: "iid", index, of: 2 } }));
  expect(uses({ table: "patients" })).toEqual({ "http://clinic": 1 });
  expect(uses(undefined)).toEqual({ "http://clinic": 1 });
  expect(uses({ columns: ["age"], table: "patients" }, {}, [], "")).toEqual({ "http://clinic": 4 });
  expect([uses(first, second), uses(first, first), uses(first, {})]).toEqual([1, 2, 2].map((times) => ({ "http://clinic": times })));
  // Rows that the request has itself are not the participant's.
  expect(Object.keys(uses([{ a: 1 }], { x: [[1]], y: [0] }))).toEqual([expect.stringMatching(/^rows /), expect.stringMatching(/^rows /)]);
});

test("a file is known by its place, which a pre-signed address names anew each time, and no name is too long for a key", () => {
  const names = (...datasets: unknown[]) => {
    const places = datasets.map((dataset, index) => place(`p${index + 1}`, dataset));
    return [...dataSetUses(places, { shared: undefined, chosen: new Set(places.map(({ id }) => id)) })];
  };
  const signed = (signature: string) => ({ uri: `https://files.example.org/rows.csv?X-Signature=${signature}` });
  expect(names(signed("a".repeat(1500)), signed("b"), { uri: "https://files.example.org//%72ows.csv" })).toEqual([
    ["https://files.example.org/rows.csv", 3],
  ]);
  expect(accountName(signed("c").uri)).toBe("https://files.example.org/rows.csv");
  expect(["digits", "http://p1", "joined", "name:5"].map(accountName)).toEqual(["digits", "http://p1", "joined", "name:5"]);
  const [long, other] = ["a", "b"].map((letter) => `https://files.example.org/${letter.repeat(1500)}`);
  const found = names({ uri: long }, { uri: long }, { uri: other }, "name ".repeat(300));
  expect(found.map(([, times]) => times)).toEqual([2, 1, 1]);
  for (const [name] of found) expect([name, accountName(name)]).toEqual([expect.stringMatching(/^sha256:[0-9a-f]{64}$/), name]);
});

test("a task's data set whose parts the coordinator hands out is used once", () => {
  const shared = { name: "digits", partition: { scheme: "iid" } };
  const places = [place("p1", undefined), place("p2", undefined), place("p3", part(0))];
  const uses = (...chosen: string[]) => Object.fromEntries(dataSetUses(places, { shared, chosen: new Set(chosen) }));
  expect(uses("p1", "p2")).toEqual({ digits: 1 });
  expect(uses("p2", "p3")).toEqual({ digits: 2 });
  expect(uses()).toEqual({});
});

test("rounds of several federations add up to the epsilon of all of them, which is below the sum of theirs", () => {
  const rho = (noiseMultiplier: number, rounds: number) => rounds * rhoOfRound({ noiseMultiplier });
  const together = epsilonOfRho(rho(1, 3) + rho(2, 4), 1e-5);
  expect(together).toBe(epsilonOfRho(2, 1e-5));
  expect(together).toBeGreaterThan(epsilonOfRho(rho(1, 3), 1e-5));
  expect(together).toBeLessThan(epsilonOfRho(rho(1, 3), 1e-5) + epsilonOfRho(rho(2, 4), 1e-5));
  expect(epsilonOfRho(0, 1e-5)).toBe(0);
});
