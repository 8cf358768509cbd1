import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/**
 * The machine's own Chromium (env CHROMIUM, then PATH). Its absence is a failure: screens that were not rendered prove nothing.
 * `slowMo` is a pause after each action, in milliseconds.
 */
export function launchChromium({ slowMo = 0 }: { slowMo?: number } = {}): Promise<Browser> {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
  const candidates = [process.env["CHROMIUM"] ?? "", ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))];
  const executablePath = candidates.find(isProgram);
  if (executablePath === undefined) throw new Error("NO CHROMIUM: install it (apt-get install chromium), or set CHROMIUM to its path.");
  // Containers have neither the namespaces of its sandbox nor a large /dev/shm; it opens nothing but our own pages.
  return chromium.launch({ executablePath, slowMo, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return path !== "";
  } catch {
    return false;
  }
}
