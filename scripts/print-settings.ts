/** Writes docs/settings.md from the settings that the processes declare. `make check` fails while the page differs. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { settingsPage } from "./settings/page.ts";

writeFileSync(resolve(import.meta.dirname, "../docs/settings.md"), settingsPage());
