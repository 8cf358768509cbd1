import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type RequestHandler, Router } from "express";

const DOCS = resolve(import.meta.dirname, "../../../../docs");

/** Pages for programs that use the platform for a person: what there is to read, and how to use it. They need no build. */
export function agentPages(folder: string = DOCS): Router {
  const router = Router({ caseSensitive: true });
  router.get("/llms.txt", sendText(join(folder, "llms.txt"), "text/plain"));
  router.get("/api/agents/skill", sendText(join(folder, "agents.md"), "text/markdown"));
  return router;
}

/** The file is read at the first request that succeeds; it does not change while the process runs. */
function sendText(path: string, type: string): RequestHandler {
  let text: string | undefined;
  return async (_request, response) => {
    text ??= await readFile(path, "utf8");
    response.setHeader("content-type", `${type}; charset=utf-8`);
    response.end(text);
  };
}
