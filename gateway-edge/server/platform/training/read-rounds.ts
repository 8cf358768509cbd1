import type { PageMeta, PageRequest } from "../../../../proto/gen/tributary/paging/v1/paging.ts";
import type { Round } from "../../../../proto/gen/tributary/training/v1/training.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationCall } from "../../middleware/operation.ts";

const PAGE_SIZE = 100;

/** A page of a federation's rounds. Rounds of many participants do not fit one message, so a page may need several. */
export async function readRounds(
  { control }: Pick<EdgeDeps, "control">,
  { federationId, page }: { federationId: string; page: PageRequest },
  call: OperationCall,
): Promise<{ rounds: Round[]; meta: PageMeta | undefined }> {
  const rounds: Round[] = [];
  for (;;) {
    const part = await control.training.listRounds({ federationId, page, skip: rounds.length }, call.read());
    rounds.push(...part.rounds);
    const expected = Math.min(page.pageSize, (part.meta?.total ?? 0) - (page.page - 1) * page.pageSize);
    if (part.rounds.length === 0 || rounds.length >= expected) return { rounds, meta: part.meta };
  }
}

/** All rounds of a federation in their order, page by page. */
export async function* eachRound(deps: Pick<EdgeDeps, "control">, federationId: string, call: OperationCall): AsyncGenerator<Round> {
  for (let page = 1; ; page++) {
    const { rounds } = await readRounds(deps, { federationId, page: { page, pageSize: PAGE_SIZE } }, call);
    yield* rounds;
    if (rounds.length < PAGE_SIZE) return;
  }
}
