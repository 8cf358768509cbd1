import { type Group, option, required } from "../../operations/spec.ts";
import type { Column } from "../../output/values.ts";

const columns: readonly Column[] = [
  { title: "name", at: "name" },
  { title: "epsilon spent", at: "epsilon", as: "decimal" },
  { title: "epsilon budget", at: "epsilonBudget", as: "decimal" },
  { title: "delta", at: "delta" },
  { title: "rounds", at: "rounds", as: "count" },
];

/** Privacy budgets: how much epsilon federations have spent per dataset. */
export const dataSets: Group = {
  name: "datasets",
  summary: "Manage privacy budgets of datasets",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List the epsilon spent by federations, per dataset",
      method: "GET",
      path: "/training/datasets",
      auth: "either",
      view: { kind: "list", columns, id: "name", empty: "No federation has spent a privacy budget yet." },
    },
    {
      name: "budget",
      summary: "Set the privacy budget of a dataset",
      method: "PUT",
      path: "/training/datasets",
      auth: "either",
      fields: [
        option("--name <name>", "dataset name, as used by federations", "name", { ...required, question: "Dataset" }),
        option("--epsilon <number>", "maximum epsilon; a round that would exceed it does not start", "epsilonBudget", {
          kind: "number",
          ...required,
          question: "Epsilon",
        }),
        option("--delta <number>", "delta at which epsilon is reported", "delta", { kind: "number" }),
      ],
      view: { kind: "record", at: "dataset", fields: columns, id: "dataset.name" },
    },
  ],
};
