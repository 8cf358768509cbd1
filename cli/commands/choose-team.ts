import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Values } from "../operations/spec.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

/** The team a key is made for: the one named, the profile's, or the only one there is. A name is as good as an id. */
export async function chooseTeam({ client, settings }: Context, values: Values): Promise<void> {
  const wanted = values.body["team_id"] ?? settings.get("team")?.value;
  const { body } = await client.send({ method: "GET", path: "/api/gw/teams", query: { pageSize: "100" }, auth: "user" });
  const teams = rowsOf(body).map((row) => ({ id: String(valueAt(row, "id")), name: String(valueAt(row, "name")) }));
  const found = wanted === undefined ? teams : teams.filter(({ id, name }) => id === wanted || name === wanted);
  const [only, another] = found;
  if (only && !another) values.body["team_id"] = only.id;
  // Past the first hundred we do not know better than the server.
  else if (wanted !== undefined && !only) values.body["team_id"] = wanted;
  else throw usageError("There are several teams.", `--team names one: ${found.map(({ id, name }) => `${id} (${name})`).join(", ")}`);
}
