/**
 * Writes the file tree that the container image adds to its base: the compiled package with the libraries of the lockfile, its two programs
 * and the folder of its data. The last stage of deploy/Dockerfile copies it, and a test starts it with a read-only root.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildImageTree } from "./package/build-image-tree.ts";

const { values } = parseArgs({ options: { out: { type: "string", default: "dist/image" } } });
const out = resolve(values.out);
console.log(`${buildImageTree(resolve(import.meta.dirname, ".."), out)} libraries in ${out}`);
