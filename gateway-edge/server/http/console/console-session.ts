import { type Request, type RequestHandler, type Response, Router } from "express";
import { toJson } from "../../../../common/json.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/auth.ts";
import { bearerToken, callMetadata } from "../../middleware/authenticate-user.ts";
import { allowOnly, DEADLINE_MS } from "../../middleware/operation.ts";
import { clearSessionCookie, requireSameOrigin, setSessionCookie } from "../../middleware/session-cookie.ts";
import { validate } from "../../middleware/validate.ts";

const SESSION_PATH = "/api/auth/session";
const REFRESH_PATH = "/api/auth/session/refresh";
const BODY_BYTES_MAX = 16 * 1024;

/**
 * The console's session: a platform token in a cookie that no script can read. Only pages of this origin may open, refresh or end one, so
 * that another site can neither use a session nor log a visitor in as another user.
 */
export function consoleSessionRoutes(deps: EdgeDeps): Router {
  const router = Router({ caseSensitive: true });
  router.post(SESSION_PATH, openSession(deps));
  router.delete(SESSION_PATH, closeSession(deps));
  router.all(SESSION_PATH, allowOnly(["POST", "DELETE"]));
  router.post(REFRESH_PATH, refreshSession(deps));
  router.all(REFRESH_PATH, allowOnly(["POST"]));
  return router;
}

/** Opens a session with email and password, or with a token from sign-up. */
function openSession({ control }: EdgeDeps): RequestHandler {
  return async (request, response) => {
    requireSameOrigin(request);
    if (request.headers.authorization !== undefined) {
      const token = bearerToken(request);
      const session = await control.identity.refreshToken({}, passwordCall(request, response, token));
      return answer({ request, response, session });
    }
    const body = await readBody(request, BODY_BYTES_MAX);
    requireJsonType(request);
    const given = validate(schemas.createTokenBody, parseJson(body), "body");
    answer({ request, response, session: await control.identity.createToken(given, passwordCall(request, response)) });
  };
}

function refreshSession({ control }: EdgeDeps): RequestHandler {
  return async (request, response) => {
    requireSameOrigin(request);
    const session = await control.identity.refreshToken({}, passwordCall(request, response, bearerToken(request)));
    answer({ request, response, session });
  };
}

function closeSession({ control }: EdgeDeps): RequestHandler {
  return async (request, response) => {
    requireSameOrigin(request);
    // The cookie is cleared even if the control plane refuses: an expired session is closed already.
    clearSessionCookie(response);
    await control.identity.logout({}, passwordCall(request, response, bearerToken(request)));
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.end(toJson({ loggedOut: true }));
  };
}

interface OpenedSession {
  request: Request;
  response: Response;
  session: { token: string; expiresAt: Date | undefined };
}

function answer({ request, response, session: { token, expiresAt } }: OpenedSession): void {
  setSessionCookie(request, response, { token, expiresAt: expiresAt ?? new Date(0) });
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.end(toJson({ expiresAt: expiresAt ?? null }));
}

function passwordCall(request: Request, response: Response, token?: string) {
  return { deadlineMs: DEADLINE_MS.password, metadata: callMetadata(request, response, token) };
}
