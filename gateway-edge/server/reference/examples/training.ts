import type { RequestExample } from "./example.ts";
import { SHA256 } from "./ids.ts";

const participant = { url: "http://10.0.0.5:5000" };
const joined: RequestExample = { credential: "JOIN_TOKEN" };
const model = { params: { model: "digits-clf" } };
const ofNode = { params: { path: "own/path" } };

/** Federations, trained models, trainer nodes and participants that join. */
export const TRAINING_EXAMPLES: Readonly<Record<string, RequestExample>> = {
  "post /training/federations": {
    body: {
      name: "digits",
      rounds: 10,
      task: { name: "softmax", config: { epochs: 3, lr: 0.3 }, dataset: { name: "digits", partition: { scheme: "iid" } } },
      participants: [participant, participant],
    },
  },
  "get /training/federations": { query: { state: "running" } },
  "get /training/federations/:id/events": { isStream: true },
  "post /training/federations/:id/extend": { body: { rounds: 5 } },
  "post /training/federations/:id/replays": { body: { strategy: { name: "median" } } },
  "post /training/federations/:id/publish": { body: { model: "digits-clf", pricing: { input: 100_000_000, output: 100_000_000 } } },
  "post /training/federations/:id/rollback": { body: { model: "digits-clf", version: 1 } },
  "get /training/federations/:id/versions": { query: { model: "digits-clf" } },
  "get /training/federations/:id/metrics": { query: { format: "csv" } },
  "get /training/federations/:id/parameters": { save: "model.safetensors" },
  "get /training/federations/:id/rounds/:round/parameters": { save: "round-3.safetensors" },
  "post /training/models": { body: { model: "digits-clf", blob: SHA256, task: { task: "softmax" } } },
  "get /training/models/:model/versions": model,
  "post /training/models/:model/rollback": { ...model, body: { version: 1 } },
  "post /training/models/:model/split": { ...model, body: { version: 2, percent: 10 } },
  "post /training/nodes": { body: { ...participant, name: "hospital-a" } },
  "get /training/nodes/:id/*path": { params: { path: "status" } },
  "post /training/nodes/:id/*path": ofNode,
  "put /training/nodes/:id/*path": ofNode,
  "patch /training/nodes/:id/*path": ofNode,
  "delete /training/nodes/:id/*path": ofNode,
  "put /training/datasets": { body: { name: "patients", epsilonBudget: 4, delta: 0.00001 } },
  "post /training/strategies": {
    body: { name: "half", language: "python", source: "def combine(results, context):\n    return results[0].parameters\n" },
  },
  "get /training/strategies/:name": { params: { name: "half" } },
  "delete /training/strategies/:name": { params: { name: "half" } },
  "put /training/blobs/:sha256": { file: { name: "model.safetensors" } },
  "get /training/blobs/:sha256": { save: "model.safetensors" },
  "post /training/join": { ...joined, body: { maxSamples: 1000 } },
  "delete /training/join": joined,
  "get /training/join/tasks": joined,
  "post /training/join/tasks/:task": { ...joined, file: { name: "parameters.bin" } },
  "post /training/join/tasks/:task/progress": joined,
  "get /training/join/blobs/:sha256": { ...joined, save: "parameters.bin" },
};
