import { type RequestHandler, Router } from "express";
import type { EdgeDeps } from "../../../deps.ts";
import { noStore } from "../../middleware/security-headers.ts";
import { CONSOLE_FOLDER, consoleFiles } from "./console-files.ts";
import { consoleSessionRoutes } from "./console-session.ts";
import { fallbackLoginRoutes } from "./fallback-login.ts";
import { oidcSignInRoutes } from "./oidc-sign-in.ts";

/** Routes for browsers: the console at /ui, its session, sign-in by OpenID Connect, and the log-in without scripts. */
export function consoleRoutes(deps: EdgeDeps, { folder = CONSOLE_FOLDER }: { folder?: string } = {}): Router {
  const router = Router({ caseSensitive: true });
  router.get("/", openConsole);
  router.get("/ui", addSlash);
  router.use("/ui", consoleFiles(folder));
  router.use(["/api/auth/session", "/api/auth/oidc"], noStore);
  router.use(consoleSessionRoutes(deps));
  router.use(oidcSignInRoutes(deps));
  router.use(fallbackLoginRoutes(deps));
  return router;
}

/** All addresses of the console start with /ui/. */
const addSlash: RequestHandler = (request, response, next) => {
  if (request.path !== "/ui") return next();
  response.redirect(308, "/ui/");
};

/** A browser at `/` gets the console; a client that accepts JSON gets a 404. */
const openConsole: RequestHandler = (request, response, next) => {
  if (request.accepts("json", "html") !== "html") return next();
  response.redirect(302, "/ui/");
};
