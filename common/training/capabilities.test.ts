import { capabilitiesInHeader, declaredCapabilities } from "./capabilities.ts";
import { inabilityOf, needsOf } from "./federation-needs.ts";
import { federationSettings } from "./federation-settings.ts";

const settings = (given: object) => federationSettings.parse({ task: "softmax", ...given });
const noise = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };

test.each([
  ["nothing", {}, ["formats"]],
  [
    "the abilities of a node",
    { clip: true, noise: true, mask: true, steps: false, formats: ["npz"] },
    ["clip", "noise", "mask", "formats"],
  ],
  ["the steps of built-in tasks, as nodes of earlier versions do, which apply mu", { steps: true }, ["steps", "proximal", "formats"]],
  ["steps and no proximal term", { steps: true, proximal: false }, ["steps", "formats"]],
  ["pickles alone", { clip: "yes", formats: ["pickle"] }, []],
])("declaring %s", (_name, declared, able) => {
  expect([...declaredCapabilities(declared)]).toEqual(able);
});

test.each([
  ["", ["formats"]],
  ["clip, noise,steps", ["clip", "noise", "steps", "proximal", "formats"]],
  ["clip,proximal", ["clip", "proximal", "formats"]],
  ["mask,formats=pickle+npz", ["mask", "formats"]],
  ["mask,formats=pickle", ["mask"]],
])("a joined participant's header %j", (header, able) => {
  expect([...capabilitiesInHeader(header)]).toEqual(able);
});

test.each([
  [{}, []],
  [{ strategy: "fedadam" }, ["formats"]],
  [{ strategy: "fednova" }, ["steps", "formats"]],
  [{ strategy: { name: "fedprox", mu: 0.1 } }, ["proximal", "formats"]],
  [{ strategy: "fedprox", task: { mu: 0.1 } }, ["proximal", "formats"]],
  [{ strategy: { name: "fedprox", mu: 0 } }, ["formats"]],
  // A federation of an earlier version, which is fedavg.
  [{ strategy: "fedprox" }, ["formats"]],
  [{ strategy: "scaffold" }, ["controls", "formats"]],
  [{ strategy: "qfedavg" }, ["loss_before", "formats"]],
  [{ dp: { ...noise, mode: "central" } }, ["formats"]],
  [{ dp: { ...noise, mode: "local" } }, ["clip", "noise", "formats"]],
  [{ secureAggregation: true, dp: { ...noise, mode: "central" } }, ["mask", "clip", "formats"]],
])("%j needs %j", (given, needs) => {
  expect(needsOf(settings(given))).toEqual(needs);
});

test("a participant is told what it lacks and which setting needs it", () => {
  const asked = settings({ strategy: "krum", dp: { ...noise, mode: "local" } });
  expect(inabilityOf(declaredCapabilities({ clip: true, noise: true }), asked)).toBeUndefined();
  expect(inabilityOf(declaredCapabilities({ clip: true, noise: true, formats: ["pickle"] }), asked)).toBe(
    "cannot send parameters in a format that the coordinator reads, as dp.mode local needs; capabilities of its /v1/info must have one of " +
      "safetensors, msgpack, npz, npy in formats, as those of trainer nodes have",
  );
});
