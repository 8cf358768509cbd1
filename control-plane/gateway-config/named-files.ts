import { resolve } from "node:path";
import { readSecretFile } from "../../common/secret-files.ts";
import { type UpstreamTls, upstreamTlsProblem } from "../domain/upstream-tls.ts";
import type { ConfigIssues, SourcePosition } from "./located.ts";

type Fields = Readonly<Record<string, unknown>>;

interface NamedFilesContext {
  readonly issues: ConfigIssues;
  /** Files whose change triggers a reload. */
  readonly files: Set<string>;
}

/** Parameters that name files. LiteLLM has none of these. */
const TLS_FILES = { ca: "ca_file", clientCertificate: "client_cert_file", clientKey: "client_key_file" } as const;

/** Separates the parameters that name files from the others, and reads the files. */
export function readNamedFiles(params: Fields, at: SourcePosition, context: NamedFilesContext) {
  const { api_key_file: _key, ca_file: _ca, client_cert_file: _certificate, client_key_file: _clientKey, ...rest } = params;
  const read = (name: string) => readOne(params, name, at, context);
  const apiKey = rest["api_key"] === undefined ? read("api_key_file") : undefined;
  const tls = { ca: read(TLS_FILES.ca), clientCertificate: read(TLS_FILES.clientCertificate), clientKey: read(TLS_FILES.clientKey) };
  const problem = upstreamTlsProblem(tls);
  if (problem) context.issues.problem(at, `litellm_params.${TLS_FILES[problem.field]} ${problem.message}`);
  return { params: apiKey === undefined ? rest : { ...rest, api_key: apiKey }, tls: isEmpty(tls) ? undefined : tls };
}

function readOne(params: Fields, name: string, at: SourcePosition, { issues, files }: NamedFilesContext): string | undefined {
  const path = params[name];
  if (typeof path !== "string") return undefined;
  files.add(resolve(path));
  const { value, problem } = readSecretFile(`litellm_params.${name}`, path);
  if (problem !== undefined) issues.problem(at, problem);
  return value;
}

function isEmpty(tls: UpstreamTls): boolean {
  return Object.values(tls).every((text) => text === undefined);
}
