import { type Group, given, required } from "../../operations/spec.ts";
import type { Column } from "../../output/values.ts";

const columns: readonly Column[] = [
  { title: "name", at: "name" },
  { title: "epsilon", at: "epsilon", as: "decimal" },
  { title: "budget", at: "epsilonBudget", as: "decimal" },
  { title: "delta", at: "delta" },
  { title: "rounds", at: "rounds", as: "count" },
];

/** What federations have spent of the privacy of data sets. */
export const dataSets: Group = {
  name: "datasets",
  summary: "The privacy that is left of data sets",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "Epsilon that federations have spent, by data set",
      method: "GET",
      path: "/training/datasets",
      auth: "either",
      view: { kind: "list", columns, id: "name", empty: "No federation has spent the privacy of a data set yet." },
    },
    {
      name: "budget",
      summary: "Bound what may be spent of a data set",
      method: "PUT",
      path: "/training/datasets",
      auth: "either",
      fields: [
        given("--name <name>", "the data set, as federations name it", "name", { ...required, question: "Data set" }),
        given("--epsilon <number>", "no round begins that would spend more", "epsilonBudget", {
          kind: "number",
          ...required,
          question: "Epsilon",
        }),
        given("--delta <number>", "what epsilon is told for", "delta", { kind: "number" }),
      ],
      view: { kind: "record", at: "dataset", fields: columns, id: "dataset.name" },
    },
  ],
};
