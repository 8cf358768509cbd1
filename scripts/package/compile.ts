import { type Options, transformSync } from "@swc/core";

/** An option of swc that its types do not have: `./a.ts` becomes `./a.js`. */
const COMPILED_IMPORTS = { rewriteRelativeImportExtensions: true };

/** Types are checked by `make check`; here they are only removed, and imports name the files that are written. */
const OPTIONS: Options = {
  configFile: false,
  swcrc: false,
  jsc: {
    parser: { syntax: "typescript" },
    target: "es2024",
    preserveAllComments: true,
    transform: { verbatimModuleSyntax: true },
    ...COMPILED_IMPORTS,
  },
  module: { type: "es6" },
};

/** JavaScript of one TypeScript file. */
export const compile = (path: string, text: string): string => transformSync(text, { ...OPTIONS, filename: path }).code;
