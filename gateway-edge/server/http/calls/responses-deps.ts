import type { Random } from "../../../../common/random.ts";
import type { Inference } from "../../../calls/create.ts";
import type { Worker } from "../../../stored/records/worker.ts";
import type { FullStores } from "../../../stored/responses/full-stores.ts";
import type { ResponseFeed } from "../../../stored/responses/response-feed.ts";
import type { StoredResponsesDeps } from "../../../stored/responses/stored-responses.ts";
import type { CallDeps } from "./answer-call.ts";
import type { AnswerOnce } from "./answer-once.ts";

/** The dependencies of the Responses API's operations. */
export interface ResponsesDeps extends CallDeps, StoredResponsesDeps {
  readonly once: AnswerOnce;
  readonly inference: Pick<Inference, "run" | "routing" | "providers" | "mcp">;
  readonly random: Random;
  readonly full: FullStores;
  readonly feed: ResponseFeed;
  readonly worker: Pick<Worker, "countOf" | "newLease" | "startNow" | "refresh">;
}
