import type { OperationSpec } from "../../operations/spec.ts";

export const strategies: OperationSpec = {
  name: "strategies",
  summary: "Aggregation strategies; --json has their settings with bounds and defaults",
  method: "GET",
  path: "/training/strategies",
  auth: "none",
  view: {
    kind: "list",
    columns: [
      { title: "name", at: "name" },
      { title: "sees", at: "sees" },
      { title: "timing", at: "timing" },
      { title: "robust", at: "robust", as: "yesno" },
      { title: "federations", at: "federations", as: "yesno" },
      { title: "description", at: "description" },
    ],
    id: "name",
    paged: false,
  },
};
