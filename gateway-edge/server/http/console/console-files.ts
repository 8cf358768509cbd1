import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, resolve, sep } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import { AppError } from "../../../../common/errors.ts";

/** The output folder of `make console`. */
export const CONSOLE_FOLDER = resolve(import.meta.dirname, "../../../../console/dist");

/** Scripts only from this origin and never inline. Styles may be inline, because the component library sets them on elements. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
};
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  /** The bytes by content encoding; "identity" is uncompressed. */
  readonly bodies: ReadonlyMap<string, Buffer>;
}

/** Serves the built console below /ui. Files are read once. Any other path is a screen of the console, which the page routes itself. */
export function consoleFiles(folder: string): RequestHandler {
  let files: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;
  return async (request, response, next) => {
    if (request.method !== "GET" && request.method !== "HEAD") return next();
    files ??= readFiles(folder).catch((cause: unknown) => {
      files = undefined;
      throw new AppError("UNAVAILABLE", "The console is not built here. Run `make console`, then reload this page.", { cause });
    });
    const path = request.path.replace(/^\//, "");
    const known = await files;
    const file = known.get(path);
    if (file) return send({ request, response, file, isHashed: path.startsWith("assets/") });
    const page = known.get("index.html");
    // A missing asset belongs to an older build: HTML in its place would hide that.
    if (!page || extname(path) !== "") return next();
    send({ request, response, file: page, isHashed: false });
  };
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = new Set(entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)));
  if (!paths.has(join(folder, "index.html"))) throw new Error("there is no index.html");
  const plain = [...paths].filter((path) => TYPES[extname(path)] !== undefined);
  const files = plain.map(async (path) => {
    const body = await readFile(path);
    const bodies = new Map([["identity", body]]);
    for (const [encoding, suffix] of ENCODINGS) if (paths.has(path + suffix)) bodies.set(encoding, await readFile(path + suffix));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    const file: ConsoleFile = { type: TYPES[extname(path)] ?? "application/octet-stream", etag, bodies };
    return [relative(folder, path).split(sep).join("/"), file] as const;
  });
  return new Map(await Promise.all(files));
}

function send({ request, response, file, isHashed }: { request: Request; response: Response; file: ConsoleFile; isHashed: boolean }): void {
  response.locals["route"] = "/ui";
  response.setHeader("content-security-policy", CONTENT_POLICY);
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
