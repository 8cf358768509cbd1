import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { RequestValues } from "../operations/spec.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

/** Sets the team of a new key: the one given by name or ID, the profile's team, or the only team of the organization. */
export async function chooseTeam({ client, settings }: Context, values: RequestValues): Promise<void> {
  const wanted = values.body["team_id"] ?? settings.get("team")?.value;
  const { body } = await client.send({ method: "GET", path: "/api/gw/teams", query: { pageSize: "100" }, auth: "user" });
  const teams = rowsOf(body).map((row) => ({ id: String(valueAt(row, "id")), name: String(valueAt(row, "name")) }));
  const found = wanted === undefined ? teams : teams.filter(({ id, name }) => id === wanted || name === wanted);
  const [only, another] = found;
  if (only && !another) values.body["team_id"] = only.id;
  // The list holds the first 100 teams only, so the server decides whether this one exists.
  else if (wanted !== undefined && !only) values.body["team_id"] = wanted;
  else throw usageError("You have several teams.", `Choose one with --team: ${found.map(({ id, name }) => `${id} (${name})`).join(", ")}`);
}
