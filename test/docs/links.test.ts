import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { siteAddress } from "../../docs/.vitepress/links.ts";
import { GUIDES, SIDEBAR } from "../../docs/.vitepress/sidebar.ts";
import { pages, readPage, root } from "./blocks.ts";

const LINK = /\]\(([^)\s]+)\)/g;
const listed = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link));
const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
const linksOf = (page: string) => [...withoutCode(readPage(page)).matchAll(LINK)].map(([, target = ""]) => target);

test("every guide is in the side bar, and every address of the side bar is a page", () => {
  const guides = pages().filter((page) => page.startsWith("docs/") && page !== "docs/index.md");
  expect(guides.filter((page) => !listed.includes(page.slice("docs".length, -".md".length)))).toEqual([]);
  expect(listed.filter((link) => !existsSync(join(root, "docs", `${link}.md`)))).toEqual([]);
});

test("llms.txt lists the guides in the order of the side bar", () => {
  const text = readFileSync(join(root, "docs/llms.txt"), "utf8");
  const expected = GUIDES.flatMap(({ items }) => items.map(({ text: title, link }) => `- [${title}](/docs${link}.md)`));
  expect(text.split("\n").filter((line) => line.startsWith("- "))).toEqual(expected);
});

test("a link to a heading leads to one", () => {
  const broken = pages().flatMap((page) =>
    linksOf(page).flatMap((target) => {
      const [path = "", anchor] = target.split("#");
      if (anchor === undefined || /^[a-z]+:/.test(path)) return [];
      const file = path === "" ? page : join(dirname(page), path);
      const text = readPage(file.startsWith("docs/project/") ? includedIn(file) : file);
      return headings(text).has(anchor) ? [] : [`${page}: ${target}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("an address in the site is that of the page, of the included file, or of a copy; a file that is missing fails the build", () => {
  expect(siteAddress("guides/cache.md", "../prices.md#units")).toBe("/prices#units");
  expect(siteAddress("training.md", "../SECURITY.md")).toBe("/project/security");
  expect(siteAddress("project/architecture.md", "docs/glossary.md")).toBe("/glossary");
  expect(siteAddress("training.md", "../examples/federate.py")).toBe("/files/examples/federate.py.txt");
  expect(siteAddress("operations.md", "operations/runbooks")).toBe("/operations/runbooks/");
  expect(siteAddress("faq.md", "https://example.org/a#b")).toBe("https://example.org/a#b");
  expect(() => siteAddress("faq.md", "nowhere.md")).toThrow("faq.md links to nowhere.md: there is no docs/nowhere.md");
});

test("every example is in the table of examples, and what the table names for it uses it", () => {
  const table = new Map(
    [...readPage("examples/README.md").matchAll(/^\| \[([^\]]+)\]\([^)]+\) \|.*\| ([^|]+) \|$/gm)].map(([, name, by]) => [name, by]),
  );
  const files = readdirSync(join(root, "examples")).filter((name) => name !== "README.md" && name !== "__pycache__");
  expect([...table.keys()].sort()).toEqual(files.sort());
  const unused = [...table].filter(([name = "", by = ""]) => !textsOf(by).some((text) => text.includes(name)));
  expect(unused).toEqual([]);
});

/** The page itself, the tests of a folder, or those of a make target. */
function textsOf(by: string): string[] {
  if (by === "this page") return [readPage("examples/README.md").replace(/^\|.*$/gm, "")];
  const folder = by.includes("make test-ml") ? "test/ml" : by.replaceAll("`", "");
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(".test.ts"));
  return names.map((name) => readFileSync(join(root, folder, name), "utf8"));
}

function includedIn(page: string): string {
  const [, path = ""] = /@include: (\S+)-->/.exec(readPage(page)) ?? [];
  return join(dirname(page), path);
}

function headings(text: string): ReadonlySet<string> {
  const titles = text.split("\n").filter((line) => /^#{1,4} /.test(line));
  return new Set(titles.map((line) => slugOf(line.replace(/^#+ /, ""))));
}

const slugOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
