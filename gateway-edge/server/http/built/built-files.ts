import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import type { Request, Response } from "express";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

export interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  /** The bytes by content encoding; "identity" is uncompressed. */
  readonly bodies: ReadonlyMap<string, Buffer>;
}

/** All files of a build, by their path in its folder. Fails if there is no index.html, because the folder is not built then. */
export async function readBuiltFiles(folder: string): Promise<ReadonlyMap<string, BuiltFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = new Set(entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)));
  if (!paths.has(join(folder, "index.html"))) throw new Error("there is no index.html");
  const plain = [...paths].filter((path) => TYPES[extname(path)] !== undefined);
  const files = plain.map(async (path) => {
    const body = await readFile(path);
    const bodies = new Map([["identity", body]]);
    for (const [encoding, suffix] of ENCODINGS) if (paths.has(path + suffix)) bodies.set(encoding, await readFile(path + suffix));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    const file: BuiltFile = { type: TYPES[extname(path)] ?? "application/octet-stream", etag, bodies };
    return [relative(folder, path).split(sep).join("/"), file] as const;
  });
  return new Map(await Promise.all(files));
}

interface SendOptions {
  readonly request: Request;
  readonly response: Response;
  readonly file: BuiltFile;
  /** The name of the file has a hash of its content, so that it never changes. */
  readonly isHashed: boolean;
  /** In metrics and the access log. */
  readonly route: string;
  readonly contentPolicy: string;
}

export function sendBuiltFile({ request, response, file, isHashed, route, contentPolicy }: SendOptions): void {
  response.locals["route"] = route;
  response.setHeader("content-security-policy", contentPolicy);
  response.setHeader("content-type", file.type);
  response.setHeader("cache-control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
  response.setHeader("etag", file.etag);
  response.vary("accept-encoding");
  if (request.headers["if-none-match"] === file.etag) return void response.status(304).end();
  const accepted = request.acceptsEncodings(...[...file.bodies.keys()].filter((name) => name !== "identity"), "identity");
  const encoding = typeof accepted === "string" && file.bodies.has(accepted) ? accepted : "identity";
  const body = file.bodies.get(encoding);
  if (encoding !== "identity") response.setHeader("content-encoding", encoding);
  response.setHeader("content-length", String(body?.length ?? 0));
  response.end(request.method === "HEAD" ? undefined : body);
}
