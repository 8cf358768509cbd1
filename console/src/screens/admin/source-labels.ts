import type { AdminModel } from "../../api/types.ts";

/** Label of the source of a model or provider. Only those of the catalog can be changed in the console. */
export const SOURCE_LABELS: Readonly<Record<AdminModel["source"], string>> = {
  catalog: "catalog",
  configuration: "from the configuration file",
  training: "trained here",
};

/** A setting of the configuration file, with the file's name; its folder is of no interest here. */
export function fileLabel(file: string | null): string {
  const name = file?.split("/").at(-1);
  return name === undefined ? SOURCE_LABELS.configuration : `from ${name}`;
}
