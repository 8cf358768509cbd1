import { readFileSync } from "node:fs";
import type { z } from "zod";

type Environment = Readonly<Record<string, string | undefined>>;

/** A secret of the environment: its value, or what is wrong with it. Both are undefined if it is not set. */
export interface FoundSecret {
  readonly value?: string | undefined;
  readonly problem?: string;
  /** The file that it is in, if it is in one. */
  readonly file?: string;
}

const ENDING = "_FILE";

/** Marks a setting as a secret, which can also be given as the path of a file, in the variable `NAME_FILE`. Outermost call of a schema. */
export const secretSetting = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ secret: true });

export const isSecret = (schema: z.ZodType): boolean => schema.meta()?.["secret"] === true;

/** The variable that names the file of a secret. */
export const fileVariable = (name: string): string => `${name}${ENDING}`;

/** Reads a secret from its variable or from the file that `NAME_FILE` names, without the line break at the file's end. Empty is unset. */
export function findSecret(name: string, environment: Environment): FoundSecret {
  const value = environment[name] || undefined;
  const path = environment[fileVariable(name)] || undefined;
  if (path === undefined) return { value };
  if (value !== undefined) return { problem: `${name}, ${fileVariable(name)}: set one of them, not both` };
  return { ...readSecretFile(fileVariable(name), path), file: path };
}

/** The environment in which every secret of the shape that is in a file is a variable, for processes that are started with it. */
export function withSecretFiles(shape: z.ZodRawShape, environment: Environment): Environment {
  const secrets = Object.keys(shape).filter((name) => isSecret(shape[name] as z.ZodType));
  const inFiles = secrets.filter((name) => environment[fileVariable(name)]);
  const read = inFiles.flatMap((name) => [
    [name, findSecret(name, environment).value],
    [fileVariable(name), undefined],
  ]);
  return { ...environment, ...Object.fromEntries(read) };
}

/** Reads a secret from a file; `name` is the setting that names the file. */
export function readSecretFile(name: string, path: string): FoundSecret {
  try {
    const value = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    return value === "" ? { problem: `${name}: the file ${path} is empty` } : { value };
  } catch (cause) {
    return { problem: `${name}: the file cannot be read: ${(cause as NodeJS.ErrnoException).message}` };
  }
}
