/** SHA-256 of "test". */
export const SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** IDs that stand for the reader's own, by what the path names; the help of `gw` has the same. */
const BY_PLACE: readonly (readonly [place: RegExp, id: string])[] = [
  [/\/sessions\/:id/, "ses_1m7f9j68gd"],
  [/\/teams\/:id/, "team_1m7f9hztem"],
  [/\/logs\/:id/, "call_1m7f97skhg"],
  [/\/purchases\/:id/, "pur_1m7f9j33n3"],
  [/\/webhooks\/:id/, "wh_1m7f9j"],
  [/\/alerts\/:id/, "alert_1m7f9j"],
  [/\/mcp-servers\/:id/, "mcp_1m7f9j"],
  [/\/users\/:id/, "7"],
  [/\/organizations\/:id/, "org_1m7f9hztej"],
  [/\/admin\/models\/:id/, "model_1m7f8z"],
  [/\/providers\/:id/, "prov_1m7f9j"],
  [/\/federations\/:id/, "fed_1m7f90b40p"],
  [/\/nodes\/:id/, "node_1m7f9j"],
  [/\/models\/[:*]id/, "echo"],
  [/\/file_batches\/:batch_id/, "vsfb_1m7f9j"],
  [/\/items\/:item_id/, "msg_1m7f9j"],
];

const BY_NAME: Readonly<Record<string, string>> = {
  assistant_id: "asst_1m7f9j",
  batch_id: "batch_1m7f9j",
  conversation_id: "conv_1m7f9j",
  file_id: "file-1m7f9j",
  message_id: "msg_1m7f9j",
  model: "echo",
  prompt_id: "pmpt_1m7f9j",
  response_id: "resp_1m7f9j",
  round: "3",
  run_id: "run_1m7f9j",
  sha256: SHA256,
  step_id: "step_1m7f9j",
  task: "task_1m7f9j",
  thread_id: "thread_1m7f9j",
  vector_store_id: "vs_1m7f9j",
  version: "2",
};

/** The value of a path parameter in samples; undefined: it has none. */
export function exampleId(path: string, name: string): string | undefined {
  const place = BY_PLACE.find(([pattern]) => pattern.test(path) && pattern.source.endsWith(name));
  return place?.[1] ?? BY_NAME[name];
}
