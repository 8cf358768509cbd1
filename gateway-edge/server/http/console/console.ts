import { type RequestHandler, Router } from "express";
import type { EdgeDeps } from "../../../deps.ts";
import { noStore } from "../../middleware/security-headers.ts";
import { CONSOLE_FOLDER, consoleFiles } from "./console-files.ts";
import { consoleSessionRoutes } from "./console-session.ts";
import { fallbackLoginRoutes } from "./fallback-login.ts";

/** What a person with a browser is served: the console at /ui, its session, and the log-in that needs no script. */
export function consoleRoutes(deps: EdgeDeps, { folder = CONSOLE_FOLDER }: { folder?: string } = {}): Router {
  const router = Router({ caseSensitive: true });
  router.get("/", openConsole);
  router.get("/ui", addSlash);
  router.use("/ui", consoleFiles(folder));
  router.use("/api/auth/session", noStore);
  router.use(consoleSessionRoutes(deps));
  router.use(fallbackLoginRoutes(deps));
  return router;
}

/** The page's own addresses all begin with /ui/. */
const addSlash: RequestHandler = (request, response, next) => {
  if (request.path !== "/ui") return next();
  response.redirect(308, "/ui/");
};

/** Who types the bare address into a browser wants the console; a client that asks for JSON has mistyped its path. */
const openConsole: RequestHandler = (request, response, next) => {
  if (request.accepts("json", "html") !== "html") return next();
  response.redirect(302, "/ui/");
};
