import { extname, resolve } from "node:path";
import type { RequestHandler } from "express";
import { AppError } from "../../../../common/errors.ts";
import { type BuiltFile, readBuiltFiles, sendBuiltFile } from "../built/built-files.ts";

/** The output folder of `make console`. */
export const CONSOLE_FOLDER = resolve(import.meta.dirname, "../../../../console/dist");

/** Scripts only from this origin and never inline. Styles may be inline, because the component library sets them on elements. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  // Speech that the playground made.
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Serves the built console below /ui. Files are read once. Any other path is a screen of the console, which the page routes itself. */
export function consoleFiles(folder: string): RequestHandler {
  let files: Promise<ReadonlyMap<string, BuiltFile>> | undefined;
  return async (request, response, next) => {
    if (request.method !== "GET" && request.method !== "HEAD") return next();
    files ??= readBuiltFiles(folder).catch((cause: unknown) => {
      files = undefined;
      throw new AppError("UNAVAILABLE", "The console is not built here. Run `make console`, then reload this page.", { cause });
    });
    const path = request.path.replace(/^\//, "");
    const known = await files;
    const file = known.get(path);
    const shared = { request, response, route: "/ui", contentPolicy: CONTENT_POLICY };
    if (file) return sendBuiltFile({ ...shared, file, isHashed: path.startsWith("assets/") });
    const page = known.get("index.html");
    // A missing asset belongs to an older build: HTML in its place would hide that.
    if (!page || extname(path) !== "") return next();
    sendBuiltFile({ ...shared, file: page, isHashed: false });
  };
}
