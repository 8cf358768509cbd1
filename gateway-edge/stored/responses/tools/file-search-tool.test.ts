import { AppError, type ErrorCode } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { type FileSearchDeps, fileSearchTool } from "./file-search-tool.ts";
import { FunctionNames } from "./gateway-tool.ts";

const caller = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" } as Caller;

/** A file search over a store that is there when the request is checked, and then fails with this code. */
async function failing(code: ErrorCode) {
  const store = { id: "vs_1", kind: "vector-store", body: { id: "vs_1", status: "completed" }, createdAtMs: 0, revision: 1 };
  let reads = 0;
  const get = async () => {
    if (reads++ > 0) throw new AppError(code, "The store does not answer.");
    return store;
  };
  const deps = { records: { get }, clock: { now: () => 0 } } as unknown as FileSearchDeps;
  const input = { tool: { type: "file_search", vector_store_ids: ["vs_1"] }, where: "tools[0]", caller, names: new FunctionNames([]) };
  return await fileSearchTool(deps, input);
}

const contextOf = (signal: AbortSignal) => ({ caller, signal, onceFor: undefined, onBill: () => undefined });
const RUNS = new AbortController().signal;

test("a search that fails is a failed item that the model reads", async () => {
  const tool = await failing("UNAVAILABLE");
  expect(await tool.run('{"query":"q"}', contextOf(RUNS))).toEqual({
    item: { type: "file_search_call", status: "failed", queries: ["q"], results: [] },
    output: "The search failed: The store does not answer.",
  });
});

test("used-up credit, and a client that has left, end the response", async () => {
  const unpaid = await failing("QUOTA_EXCEEDED");
  await expect(unpaid.run("{}", contextOf(RUNS))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  const left = await failing("UNAVAILABLE");
  await expect(left.run("{}", contextOf(AbortSignal.abort()))).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
