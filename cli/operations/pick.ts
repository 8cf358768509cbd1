import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import { rowsOf } from "../output/printer.ts";
import { format, valueAt } from "../output/values.ts";
import type { OperationSpec } from "./spec.ts";

const LISTED_MAX = "100";
const LABEL_COLUMNS = 4;

/** Whether the user can be asked to choose: the list is drawn on stderr, so it must be seen there. */
export const canChoose = ({ stdinIsTerminal, stderr }: Io): boolean => stdinIsTerminal && stderr.isTerminal;

/** Lets the user choose one row of a list on the terminal, and returns its ID. */
export async function pickFrom({ client, io }: Context, list: OperationSpec, what: string): Promise<string> {
  const { view } = list;
  if (view.kind !== "list") throw new Error(`${list.path} is not a list`);
  const { body } = await client.send({ method: list.method, path: list.path, query: sizeOf(list, view.paged), auth: list.auth });
  const choices = rowsOf(body).map((row) => ({
    value: String(valueAt(row, view.id)),
    name: view.columns
      .filter(({ at }) => at !== view.id)
      .slice(0, LABEL_COLUMNS)
      .map(({ at, as }) => format(valueAt(row, at), as, io.nowMs()))
      .filter((text) => text !== "-")
      .join("  "),
  }));
  if (choices.length === 0) throw usageError(`There is no ${what} to choose.`, view.empty);
  return io.prompts.choose(`Choose: ${what}`, choices);
}

/** Lists of the gateway name the size as OpenAI's do; those of the platform have pages, or are whole. */
function sizeOf({ path }: OperationSpec, paged: false | undefined): Record<string, string> {
  if (path.startsWith("/v1/")) return { limit: LISTED_MAX };
  return paged === false ? {} : { pageSize: LISTED_MAX };
}
