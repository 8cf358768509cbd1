import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { source as axeSource } from "axe-core";
import type { Page } from "playwright-core";
import { isThorough } from "../helpers/thorough.ts";
import { SCREENS_FOLDER } from "./stage.ts";

const WIDTHS = [1280, 390] as const;
const SCHEMES = ["light", "dark"] as const;
/** Without being thorough: what differs most. */
const SHORT: readonly string[] = ["light 1280", "dark 390"];

/** Where `make pictures` wants a picture of each screen for the documentation. */
const PICTURES_FOLDER = process.env["PICTURES_FOLDER"];

/** Themes differ only in colors, widths in everything else: each rule runs where its result can differ. Color rules take longest. */
const RULES = {
  1280: { light: {}, dark: { runOnly: ["color-contrast"] } },
  390: { light: undefined, dark: { rules: { "color-contrast": { enabled: false } } } },
} as const;

/** One finding of axe, short enough to read in a failed test. */
interface Finding {
  readonly rule: string;
  readonly where: string;
  readonly what: string;
}

/** Looks at a screen in both themes and two widths: nothing serious for axe, nothing wider than the window. Keeps a picture of each look. */
export async function lookAt(page: Page, name: string): Promise<string[]> {
  mkdirSync(SCREENS_FOLDER, { recursive: true });
  await page.evaluate(axeSource);
  const problems: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const scheme of SCHEMES.filter((each) => isThorough || SHORT.includes(`${each} ${width}`))) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
      // Colors half-way between two themes belong to neither of them.
      await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => true)");
      const label = `${name} ${scheme} ${width}`;
      for (const { rule, where, what } of await audit(page, RULES[width][scheme])) {
        problems.push(`${label}: ${rule} at ${where}: ${what}`);
      }
      const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
      if (overflow > 0) problems.push(`${label}: ${overflow} px wider than the window`);
      await page.screenshot({ path: join(SCREENS_FOLDER, `${name}-${scheme}-${width}.png`), fullPage: true });
    }
  }
  await restore(page);
  if (PICTURES_FOLDER) await page.screenshot({ path: join(PICTURES_FOLDER, `${name}.jpg`), type: "jpeg", quality: 70 });
  return problems;
}

/** The next screen is opened as a desktop's, and made narrow there. */
async function restore(page: Page): Promise<void> {
  await page.setViewportSize({ width: WIDTHS[0], height: 900 });
  await page.emulateMedia({ colorScheme: SCHEMES[0], reducedMotion: "reduce" });
}

async function audit(page: Page, rules: object | undefined): Promise<Finding[]> {
  if (!rules) return [];
  return page.evaluate(async (chosen) => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: AxeViolation[] }> } };
    const { violations } = await axe.run({ resultTypes: ["violations"], ...chosen });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => ({
          rule: id,
          where: target.join(" "),
          what: failureSummary.replaceAll("\n", " ").slice(0, 200),
        })),
      );
  }, rules);
}

interface AxeViolation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}
