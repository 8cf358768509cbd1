import { accountName, type DataSet, dataSetId } from "../domain/data-sets.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";

/**
 * The account of a data set. An earlier release named a file by its whole address: what those accounts have spent, and the least of their budgets,
 * holds for the file until the account is written under its new name.
 */
export async function findDataSet(
  reader: Reader,
  { organizationId, name }: { organizationId: string; name: string },
): Promise<DataSet | undefined> {
  const id = dataSetId(organizationId, name);
  const known = await reader.get("dataSets", id);
  if (known || !name.includes("://")) return known;
  let found: DataSet | undefined;
  for await (const other of reader.scan("dataSets", { index: "byOrganization", equals: [organizationId] })) {
    if (accountName(other.name) === name) found = found ? together(found, other) : { ...other, id, name };
  }
  return found;
}

function together(one: DataSet, { rho, rounds, epsilonBudget = Number.POSITIVE_INFINITY }: DataSet): DataSet {
  const least = Math.min(one.epsilonBudget ?? Number.POSITIVE_INFINITY, epsilonBudget);
  return { ...one, rho: one.rho + rho, rounds: one.rounds + rounds, ...(Number.isFinite(least) ? { epsilonBudget: least } : {}) };
}

/** The names of an organization's data sets with a budget. An account under its new name counts, where there is one. */
export async function limitedDataSets(reader: Reader, organizationId: string): Promise<ReadonlySet<string>> {
  const all = await collect(reader.scan("dataSets", { index: "byOrganization", equals: [organizationId] }));
  const byName = Map.groupBy(all, ({ name }) => accountName(name));
  const isLimited = ([name, accounts]: [string, DataSet[]]): boolean => {
    const current = accounts.find((account) => account.name === name);
    return (current ? [current] : accounts).some(({ epsilonBudget }) => epsilonBudget !== undefined);
  };
  return new Set([...byName].filter(isLimited).map(([name]) => name));
}
