import { extname } from "node:path";

/** `.ts` where processes run from source, `.js` in the package, because Node strips no types below node_modules. */
const ENDING = extname(import.meta.filename);

/** The name of one of our programs or worker threads as it is on this machine. */
export const programFile = (path: string): string => path.replace(/\.ts$/, ENDING);
