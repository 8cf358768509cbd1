import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { documentedNames } from "../../scripts/settings/processes.ts";
import { PROGRAMS } from "../../scripts/supervisor/programs.ts";

const deploy = resolve(__dirname, "../../deploy");
const read = (path: string) => readFileSync(join(deploy, path), "utf8");
const units = readdirSync(join(deploy, "systemd")).filter((name) => name.endsWith(".service"));
const compose = ["compose.yaml", "compose.mongodb.yaml"];

interface Compose {
  services: Record<string, { environment?: Record<string, string>; command?: string[]; read_only?: boolean; secrets?: string[] }>;
  secrets: Record<string, unknown>;
}
const composed = (name: string) => parse(read(name), { merge: true }) as Compose;

/** Not settings of a process. */
const OTHERS = ["POD_NAME", "NODE_ENV"];
const upperCase = (text: string) => [...text.matchAll(/(?<![A-Za-z0-9_/])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+/g)].map(([name]) => name);

function variablesOf(): Record<string, string[]> {
  const chart = readdirSync(join(deploy, "helm/tributary/templates")).map((name) => read(`helm/tributary/templates/${name}`));
  return {
    compose: compose.flatMap((name) => Object.values(composed(name).services).flatMap(({ environment }) => Object.keys(environment ?? {}))),
    units: units.flatMap((unit) =>
      [...read(`systemd/${unit}`).matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = ""]) => upperCase(line)),
    ),
    chart: [...chart, read("helm/tributary/values.yaml")].flatMap(upperCase),
    image: [...read("Dockerfile").matchAll(/^(?:ENV| {3}) +([A-Z_]+)=/gm)].map(([, name = ""]) => name),
  };
}

test.each(Object.entries(variablesOf()))("%s sets only settings that a process reads", (_where, names) => {
  const known = documentedNames();
  const providers = ["OPENAI_API_KEY"];
  expect(names.length).toBeGreaterThan(2);
  expect([...new Set(names)].filter((name) => ![...OTHERS, ...providers].includes(name) && !known.has(name))).toEqual([]);
});

test("every role has a unit, a service of the compose file and a template, and nothing starts a role that does not exist", () => {
  const roles = Object.keys(PROGRAMS).sort();
  expect(units.map((name) => /^tributary-(.*)\.service$/.exec(name)?.[1]).sort()).toEqual(roles);
  const commands = Object.values(composed("compose.mongodb.yaml").services).map(({ command }) => command?.[0]);
  expect(roles.filter((role) => !commands.includes(role))).toEqual([]);
  for (const role of roles) expect(read(`helm/tributary/templates/${role}.yaml`)).toContain(`"command" "${role}"`);
  for (const unit of units) expect(read(`systemd/${unit}`)).toMatch(/^ExecStart=\/usr\/local\/bin\/tributary [a-z-]+$/m);
});

test("processes in containers have a read-only root, and secrets that are declared", () => {
  for (const name of compose) {
    const { services, secrets } = composed(name);
    const own = Object.entries(services).filter(([service]) => !service.startsWith("mongo-"));
    expect(own.filter(([, { read_only: readOnly }]) => readOnly !== true)).toEqual([]);
    expect(own.flatMap(([, service]) => service.secrets ?? []).filter((secret) => !(secret in secrets))).toEqual([]);
  }
  expect(read("Dockerfile")).toMatch(/^USER 10001:10001$/m);
  expect(read("helm/tributary/templates/_helpers.tpl")).toContain("readOnlyRootFilesystem: true");
});

test("the chart has the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(join(deploy, "../package.json"), "utf8")) as { version: string };
  expect(parse(read("helm/tributary/Chart.yaml"))).toMatchObject({ version, appVersion: version });
});
