/** The metrics of a text in Prometheus' format, and everything that `promtool check metrics` and our own rules have against it. */
export function readExposition(text: string): { readonly types: ReadonlyMap<string, string>; readonly problems: readonly string[] } {
  const lines = text.split("\n").filter((line) => line !== "");
  const helps = namesOf(lines, /^# HELP (\S+) (\S.*)$/);
  const types = namesOf(lines, /^# TYPE (\S+) (counter|gauge|histogram|summary)$/);
  const series = lines.filter((line) => !line.startsWith("#"));
  const problems = [
    ...lines.filter(isBroken),
    ...headProblems(lines, helps, types),
    ...nameProblems(types),
    ...seriesProblems(series, types),
  ];
  return { types, problems };
}

/** Values of a label may not be more than this: each is a series of its own. */
const LABEL_VALUES_MAX = 50;
const SERIES = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.e+-]+|Nan|NaN|[+-]Inf)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

const namesOf = (lines: readonly string[], pattern: RegExp): Map<string, string> =>
  new Map(lines.flatMap((line) => (pattern.test(line) ? [line.replace(pattern, "$1 $2").split(/ (.*)/, 2) as [string, string]] : [])));

const isBroken = (line: string): boolean => !/^# (HELP|TYPE) /.test(line) && !SERIES.test(line);

function headProblems(lines: readonly string[], helps: ReadonlyMap<string, string>, types: ReadonlyMap<string, string>): string[] {
  const heads = lines.filter((line) => line.startsWith("# TYPE "));
  return [
    ...(heads.length === types.size ? [] : ["a metric has two TYPE lines, or an unknown type"]),
    ...[...types.keys()].filter((name) => !helps.has(name)).map((name) => `${name} has no HELP`),
  ];
}

function nameProblems(types: ReadonlyMap<string, string>): string[] {
  return [...types].flatMap(([name, type]) => [
    ...((type === "counter") === name.endsWith("_total") ? [] : [`${name} is a ${type}: counters, and only they, end in _total`]),
    ...(/_(ms|milliseconds|minutes|kb|mb|count|sum|bucket)(_|$)/.test(name) ? [`${name} has another unit than seconds and bytes`] : []),
  ]);
}

function seriesProblems(series: readonly string[], types: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const values = new Map<string, Set<string>>();
  for (const line of series) {
    const [, name = "", labels = ""] = SERIES.exec(line) ?? [];
    const id = `${name}{${[...labels.matchAll(LABEL)].map(([label]) => label).sort()}}`;
    if (seen.has(id)) problems.push(`${id} is there twice`);
    seen.add(id);
    if (!types.has(name) && !types.has(name.replace(/_(bucket|sum|count)$/, ""))) problems.push(`${name} has no TYPE`);
    for (const [, label, value = ""] of labels.matchAll(LABEL)) {
      const key = `${name}.${label}`;
      values.set(key, (values.get(key) ?? new Set()).add(value));
      if (/sk-|org_|key_|user_|team_/.test(value)) problems.push(`${key} names a tenant: ${value}`);
    }
  }
  return [...problems, ...[...values].filter(([, { size }]) => size > LABEL_VALUES_MAX).map(([key]) => `${key} has too many values`)];
}
