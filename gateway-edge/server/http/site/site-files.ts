import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { RequestHandler } from "express";
import { orElse } from "../../../../common/ignore.ts";
import { type BuiltFile, readBuiltFiles, sendBuiltFile } from "../built/built-files.ts";

/** The output folder of `make docs`. */
export const SITE_FOLDER = resolve(import.meta.dirname, "../../../../docs/.vitepress/dist");

/** Scripts only from this origin, or inline with one of these hashes. Styles may be inline, because colors of code are set on elements. */
const contentPolicy = (scriptHashes: readonly string[]) =>
  [
    "default-src 'none'",
    ["script-src 'self'", ...scriptHashes.map((hash) => `'sha256-${hash}'`)].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

type Site = ReadonlyMap<string, BuiltFile & { readonly contentPolicy: string }>;

/** Serves the built guides below /docs/; /docs without a slash, and whatever there is no file for, is left to the next handler. */
export function siteFiles(folder: string): RequestHandler {
  let site: Promise<Site> | undefined;
  return async (request, response, next) => {
    const [address = ""] = request.originalUrl.split("?");
    if ((request.method !== "GET" && request.method !== "HEAD") || address === request.baseUrl) return next();
    if (site === undefined && !(await isSiteBuilt(folder))) return next();
    site ??= readSite(folder).catch((cause: unknown) => {
      // The next request reads again: the folder may have been built at this moment.
      site = undefined;
      throw cause;
    });
    const path = request.path.slice(1);
    const file = findPage(await site, path);
    if (file === undefined) return next();
    sendBuiltFile({ request, response, file, isHashed: path.startsWith("assets/"), route: "/docs", contentPolicy: file.contentPolicy });
  };
}

/** The file that the build writes last. */
const LAST_FILE = "llms-full.txt";

export async function isSiteBuilt(folder: string): Promise<boolean> {
  const found = access(join(folder, LAST_FILE)).then(() => true);
  return orElse(found, false, "without that file the guides are not built");
}

/** Addresses of pages have no extension: `guides/keys` is `guides/keys.html`, and a folder is its index. */
function findPage(site: Site, path: string) {
  const name = path.endsWith("/") || path === "" ? `${path}index.html` : path;
  return site.get(name) ?? site.get(`${name}.html`);
}

async function readSite(folder: string): Promise<Site> {
  const files = await readBuiltFiles(folder);
  const described = [...files].map(([path, file]) => {
    const hashes = path.endsWith(".html") ? inlineScripts(String(file.bodies.get("identity"))).map(hashOf) : [];
    return [path, { ...file, contentPolicy: contentPolicy(hashes) }] as const;
  });
  return new Map(described);
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("base64");

/** The texts of all scripts of a page that are not files. */
function inlineScripts(page: string): string[] {
  const parts = page.split("<script").slice(1);
  return parts.flatMap((part) => {
    const tagEnd = part.indexOf(">");
    return part.slice(0, tagEnd).includes(" src=") ? [] : [part.slice(tagEnd + 1, part.indexOf("</script>"))];
  });
}
