import { existsSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const DOCS = resolve(import.meta.dirname, "..");
const ROOT = resolve(DOCS, "..");

/** Pages of the site that are files of the repository outside docs/, each included by a page of docs/project. */
const INCLUDED: Readonly<Record<string, string>> = {
  "README.md": "/quick-start",
  "ARCHITECTURE.md": "/project/architecture",
  "SECURITY.md": "/project/security",
  "CONTRIBUTING.md": "/project/contributing",
  "CHANGELOG.md": "/project/changelog",
  "sdk/python/README.md": "/project/python-sdk",
};

/** Files that a page links to and that are no page: they are copied below /files/ as text. */
export const linkedFiles = new Set<string>();

/** The address in the site of what a page links to. A page names files relative to itself, as they are in the repository. */
export function siteAddress(page: string, href: string): string {
  if (/^([a-z][a-z+.-]*:|#|\/)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const file = join(dirname(sourceOf(page)), decodeURIComponent(path));
  if (!existsSync(join(ROOT, file))) throw new Error(`${page} links to ${href}: there is no ${file}`);
  return addressOf(file) + suffix;
}

/** The file that a page shows, and whose links it has: a page of docs/project shows an included file. */
export function sourceOf(page: string): string {
  const included = Object.entries(INCLUDED).find(([, address]) => address.startsWith("/project/") && `${address.slice(1)}.md` === page);
  return included?.[0] ?? join("docs", page);
}

function addressOf(file: string): string {
  const included = INCLUDED[file];
  if (included !== undefined) return included;
  const inDocs = relative("docs", file);
  if (!inDocs.startsWith("..") && file.endsWith(".md")) return `/${inDocs.replace(/\.md$/, "")}`;
  if (statSync(join(ROOT, file)).isDirectory()) return folderAddress(file);
  linkedFiles.add(file);
  return `/files/${file}.txt`;
}

/** A folder of pages is its list in the site. */
function folderAddress(folder: string): string {
  const index = join(folder, "index.md");
  if (!existsSync(join(ROOT, index))) throw new Error(`there is a link to the folder ${folder}, which has no index.md`);
  return `/${relative("docs", folder)}/`;
}
