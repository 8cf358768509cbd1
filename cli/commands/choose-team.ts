import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { canChoose } from "../operations/pick.ts";
import type { RequestValues } from "../operations/spec.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

interface Team {
  readonly id: string;
  readonly name: string;
}

/** Sets the team of a new key: the one given by name or ID, the profile's team, the only team of the organization, or the one chosen on the terminal. */
export async function chooseTeam({ client, settings, io }: Context, values: RequestValues): Promise<void> {
  const wanted = values.body["team_id"] ?? settings.get("team")?.value;
  const { body } = await client.send({ method: "GET", path: "/api/gw/teams", query: { pageSize: "100" }, auth: "user" });
  const teams: readonly Team[] = rowsOf(body).map((row) => ({ id: String(valueAt(row, "id")), name: String(valueAt(row, "name")) }));
  const found = wanted === undefined ? teams : teams.filter(({ id, name }) => id === wanted || name === wanted);
  const [only, another] = found;
  if (only && !another) values.body["team_id"] = only.id;
  // The list holds the first 100 teams only, so the server decides whether this one exists.
  else if (wanted !== undefined && !only) values.body["team_id"] = wanted;
  else if (canChoose(io)) values.body["team_id"] = await io.prompts.choose("Team of the key", found.map(asChoice));
  else throw usageError("You have several teams.", `Choose one by name or ID with --team: ${found.map(inWords).join(", ")}.`);
}

const asChoice = ({ id, name }: Team) => ({ value: id, name });
const inWords = ({ id, name }: Team): string => `${name} (${id})`;
