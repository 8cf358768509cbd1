/** `make pictures`: a picture of every screen of the console, made by its browser test over a furnished platform, and the page that shows them. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runJest } from "./test/run-jest.ts";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, "docs/images");

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
process.env["PICTURES_FOLDER"] = folder;
const { code } = await runJest(root, ["test/browser/console.test.ts", "-t", "every screen"]);
const names = readdirSync(folder)
  .map((file) => file.replace(/\.jpg$/, ""))
  .toSorted();
writeFileSync(join(root, "docs/screens.md"), pageOf(names));
console.log(`${names.length} pictures in docs/images, shown by docs/screens.md`);
process.exitCode = code;

function pageOf(screens: readonly string[]): string {
  const shown = screens.map((name) => `## ${titleOf(name)}\n\n![${titleOf(name)}](images/${name}.jpg)\n`);
  return ["# Every screen of the console\n\nMade by `make pictures`, which is the browser test of all screens.\n", ...shown].join("\n");
}

function titleOf(name: string): string {
  const text = name.replaceAll("-", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
