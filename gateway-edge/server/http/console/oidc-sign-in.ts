import { type Request, type RequestHandler, type Response, Router } from "express";
import { asAppError, isTransient } from "../../../../common/errors.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/auth.ts";
import { callMetadata } from "../../middleware/authenticate-user.ts";
import { allowOnly, DEADLINE_MS } from "../../middleware/operation.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import { readCookie, setSessionCookie } from "../../middleware/session-cookie.ts";
import { validate } from "../../middleware/validate.ts";

const OIDC_START_PATH = "/api/auth/oidc/:provider";
const OIDC_CALLBACK_PATH = "/api/auth/oidc/:provider/callback";
/** SameSite is Lax, not Strict: the callback is a navigation that comes from the issuer's site. */
const COOKIE = { secure: "__Host-tributary-oidc", plain: "tributary-oidc" };

/**
 * Sign-in by OpenID Connect, as two redirects of a browser. The control plane talks to the issuer; the edge holds the sealed flow in a cookie
 * in between, so that only the browser that started a sign-in can end it.
 */
export function oidcSignInRoutes(deps: EdgeDeps): Router {
  const router = Router({ caseSensitive: true });
  router.get(OIDC_START_PATH, orRefuse(deps, start(deps)));
  router.all(OIDC_START_PATH, allowOnly(["GET"]));
  router.get(OIDC_CALLBACK_PATH, orRefuse(deps, finish(deps)));
  router.all(OIDC_CALLBACK_PATH, allowOnly(["GET"]));
  return router;
}

type Step = (request: Request, response: Response) => Promise<void>;

/** A person in a browser sees the sign-in page instead of a JSON error when the control plane is away. */
function orRefuse({ logger }: EdgeDeps, step: Step): RequestHandler {
  return async (request, response) => {
    try {
      await step(request, response);
    } catch (thrown) {
      const error = asAppError(thrown);
      if (!isTransient(error)) throw thrown;
      logger.warn({ requestId: requestIdOf(response), code: error.code, error: error.internal }, "a sign-in failed on our side");
      refuse(response, "unavailable");
    }
  };
}

function start({ control }: EdgeDeps): Step {
  return async (request, response) => {
    const { provider } = validate(schemas.oidcParams, request.params, "params");
    const { next } = validate(schemas.oidcStartQuery, request.query, "query");
    const started = await control.identity.startOidc({ provider, next: next ?? "/" }, callOptions(request, response));
    if (started.refusal !== undefined) return refuse(response, started.refusal);
    setFlowCookie(request, response, { value: started.flow, expiresAt: started.expiresAt ?? new Date(0) });
    response.redirect(303, started.authorizationUrl);
  };
}

function finish({ control }: EdgeDeps): Step {
  return async (request, response) => {
    const { provider } = validate(schemas.oidcParams, request.params, "params");
    const flow = readCookie(request, COOKIE);
    // The flow is used up, whatever comes of it.
    setFlowCookie(request, response, { value: "", expiresAt: new Date(0) });
    if (flow === undefined) return refuse(response, "expired");
    const query = request.originalUrl.split("?").slice(1).join("?");
    const finished = await control.identity.finishOidc({ provider, flow, query }, callOptions(request, response));
    if (finished.refusal !== undefined) return refuse(response, finished.refusal);
    setSessionCookie(request, response, { token: finished.token, expiresAt: finished.expiresAt ?? new Date(0) });
    response.redirect(303, `/ui${finished.next}`);
  };
}

/** The sign-in page has a text for each reason, so that no link can put other texts there. */
function refuse(response: Response, reason: string): void {
  response.redirect(303, `/ui/login?refused=${encodeURIComponent(reason)}`);
}

function setFlowCookie(request: Request, response: Response, { value, expiresAt }: { value: string; expiresAt: Date }): void {
  const attributes = `Path=/; Expires=${expiresAt.toUTCString()}; HttpOnly; SameSite=Lax`;
  response.append("set-cookie", `${COOKIE.secure}=${value}; ${attributes}; Secure`);
  if (!request.secure) response.append("set-cookie", `${COOKIE.plain}=${value}; ${attributes}`);
}

function callOptions(request: Request, response: Response) {
  return { deadlineMs: DEADLINE_MS.oidc, metadata: callMetadata(request, response) };
}
