/** The part of a replica set's configuration that says who acknowledges writes. */
export interface SetConfig {
  readonly version: number;
  readonly members: readonly { readonly host: string; readonly votes: number; readonly arbiterOnly: boolean }[];
}

/**
 * Whether every write that a majority has acknowledged is at one of the members that answered. Members with an older configuration than the
 * newest among them are not counted; without a configuration nothing is known, because hidden members vote too.
 */
export function isQuorum(answers: readonly { readonly host: string; readonly config: SetConfig | undefined }[]): boolean {
  const configs = answers.map(({ config }) => config).filter((config) => config !== undefined);
  const newest = configs.reduce<SetConfig | undefined>(
    (best, config) => (best && best.version >= config.version ? best : config),
    undefined,
  );
  if (!newest) return false;
  const voters = newest.members.filter(({ votes }) => votes > 0);
  const bearing = voters.filter(({ arbiterOnly }) => !arbiterOnly);
  const majority = Math.min(Math.floor(voters.length / 2) + 1, bearing.length);
  const counted = new Set(answers.filter(({ config }) => config?.version === newest.version).map(({ host }) => host));
  return bearing.filter(({ host }) => counted.has(host)).length > bearing.length - majority;
}
