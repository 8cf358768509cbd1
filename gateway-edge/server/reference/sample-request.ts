import type { OperationDescription } from "../../schemas/operation-description.ts";
import type { RequestExample } from "./examples/example.ts";
import { requestExample } from "./request-example.ts";

/** A header whose value is a prefix and a variable of the environment. */
export interface VariableHeader {
  readonly name: string;
  readonly prefix: string;
  readonly variable: string;
}

/** The request that all samples of an operation send. */
export interface SampleRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly VariableHeader[];
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly bodyType: NonNullable<OperationDescription["bodyType"]>;
  readonly file: RequestExample["file"];
  readonly save: string | undefined;
  /** The response lasts; it is shown as it arrives. */
  readonly isStream: boolean;
}

const CREDENTIALS: Readonly<Record<OperationDescription["auth"], string | undefined>> = {
  none: undefined,
  user: "TOKEN",
  admin: "TOKEN",
  key: "KEY",
};

export function sampleRequest(entry: OperationDescription): SampleRequest {
  const example = requestExample(entry);
  const query = new URLSearchParams(example.query).toString();
  const path = entry.path.replace(/[:*]([A-Za-z]\w*)/g, (_match, name: string) => example.params?.[name] ?? "");
  const credential = example.credential ?? CREDENTIALS[entry.auth];
  const bearer = credential === undefined ? [] : [{ name: "Authorization", prefix: "Bearer ", variable: credential }];
  const others = Object.entries(example.headers ?? {}).map(([name, variable]) => ({ name, prefix: "", variable }));
  return {
    method: entry.method.toUpperCase(),
    path: query === "" ? path : `${path}?${query}`,
    headers: [...bearer, ...others],
    body: example.body,
    bodyType: entry.bodyType ?? "application/json",
    file: example.file,
    save: example.save,
    isStream: example.isStream ?? false,
  };
}
