import { type Request, type Response, Router } from "express";
import { AppError, asAppError } from "../../../../common/errors.ts";
import { ignore, orElse } from "../../../../common/ignore.ts";
import { toUsdString } from "../../../../common/money.ts";
import { readBody } from "../../../calls/read-body.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/auth.ts";
import { callMetadata } from "../../middleware/authenticate-user.ts";
import { platformErrorStatus } from "../../middleware/error-response.ts";
import { DEADLINE_MS } from "../../middleware/operation.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import { clearSessionCookie, cookieToken, requireSameOrigin, setSessionCookie } from "../../middleware/session-cookie.ts";
import { validate } from "../../middleware/validate.ts";

const FORM_BYTES_MAX = 16 * 1024;
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Log-in, log-out and the balance as plain HTML forms, for browsers without scripts or if the console does not load. */
export function fallbackLoginRoutes(deps: EdgeDeps): Router {
  const router = Router({ caseSensitive: true });
  router.get("/fallback/login", (request, response) => show(deps, request, response));
  router.post("/fallback/login", (request, response) => logIn(deps, request, response));
  router.post("/fallback/logout", (request, response) => logOut(deps, request, response));
  return router;
}

async function show({ control }: EdgeDeps, request: Request, response: Response): Promise<void> {
  const token = cookieToken(request);
  const me =
    token === undefined
      ? undefined
      : await orElse(control.identity.getMe({}, callOptions(request, response, token)), undefined, "shown as not logged in");
  if (!me?.user || !me.organization) return sendPage(response, { status: 200, body: form() });
  const { user, organization } = me;
  const facts = `<p>Logged in as <b>${escapeHtml(user.email)}</b>.</p>
<p>${escapeHtml(organization.name)}: ${escapeHtml(toUsdString(organization.balance))} USD, ${escapeHtml(organization.status)}.</p>
<p><a href="/ui/">Open the console</a> · <a href="/docs">API documentation</a></p>
<form method="post" action="/fallback/logout"><button>Log out</button></form>`;
  sendPage(response, { status: 200, body: facts });
}

async function logIn({ control }: EdgeDeps, request: Request, response: Response): Promise<void> {
  let email = "";
  try {
    requireSameOrigin(request);
    const fields = await readForm(request);
    email = fields.get("email") ?? "";
    const otp = fields.get("otp") || undefined;
    const given = validate(schemas.createTokenBody, { email, password: fields.get("password") ?? "", otp }, "body");
    const { token, expiresAt } = await control.identity.createToken(given, callOptions(request, response));
    setSessionCookie(request, response, { token, expiresAt: expiresAt ?? new Date(0) });
    response.setHeader("cache-control", "no-store");
    // Redirects to this page and not to the console, which needs scripts.
    response.redirect(303, "/fallback/login");
  } catch (thrown) {
    const error = asAppError(thrown);
    const message = `${error.message} (request ${requestIdOf(response)})`;
    sendPage(response, { status: platformErrorStatus(error), body: form({ email, message }) });
  }
}

async function logOut({ control }: EdgeDeps, request: Request, response: Response): Promise<void> {
  const token = cookieToken(request);
  clearSessionCookie(response);
  if (token !== undefined)
    await ignore(control.identity.logout({}, callOptions(request, response, token)), "the session may have ended already");
  response.redirect(303, "/fallback/login");
}

async function readForm(request: Request): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers["content-type"] ?? "")) {
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the form as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams((await readBody(request, FORM_BYTES_MAX)).toString("utf8"));
}

function callOptions(request: Request, response: Response, token?: string) {
  return { deadlineMs: DEADLINE_MS.password, metadata: callMetadata(request, response, token) };
}

function form({ email = "", message = "" } = {}): string {
  return `${message === "" ? "" : `<p role="alert">${escapeHtml(message)}</p>`}
<form method="post" action="/fallback/login">
<label>E-mail <input name="email" autocomplete="username" required autofocus value="${escapeHtml(email)}"></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<label>Code, with two-factor authentication <input name="otp" autocomplete="one-time-code"></label>
<button>Log in</button></form><p><a href="/ui/login">Log in to the console</a></p>`;
}

function sendPage(response: Response, { status, body }: { status: number; body: string }): void {
  response.locals["route"] = "/fallback/login";
  response.setHeader("content-security-policy", CONTENT_POLICY);
  response.setHeader("cache-control", "no-store");
  // With no-referrer, older browsers send the origin "null" with our own form.
  response.setHeader("referrer-policy", "same-origin");
  response
    .status(status)
    .type("text/html")
    .end(`<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Log in · Tributary</title><style>${STYLE}</style></head>
<body><main><h1>Tributary</h1>${body}</main></body></html>`);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0;display:grid;place-items:center;min-height:100vh}
main{width:min(22rem,90vw)}label{display:block;margin:.8rem 0}input{display:block;width:100%;box-sizing:border-box;padding:.6rem;font:inherit}
button{padding:.6rem 1rem;font:inherit;cursor:pointer}[role=alert]{color:light-dark(#b3261e,#ff8a80)}`;
