import type { Request, RequestHandler, Response } from "express";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { newId } from "../../../../common/ids.ts";
import { requireScope } from "../../../../common/key-scopes.ts";
import { secretSha256 } from "../../../../common/key-shape.ts";
import type { Random } from "../../../../common/random.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../../../access/clients/control-plane.ts";
import { chatExchange } from "../../../calls/formats/chat.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import { parseChatRequest } from "../../../schemas/calls/chat.ts";
import { FIELD_REQUIRED } from "../../../schemas/request-body.ts";
import { takeClientParams } from "../../../upstream/client-params.ts";
import { type KeyDirectory, keyTest } from "../../middleware/authenticate-key.ts";
import { bearerToken, callMetadata } from "../../middleware/authenticate-user.ts";
import { platformErrorBody, platformErrorStatus } from "../../middleware/error-response.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import { answerCall, type CallDeps } from "./answer-call.ts";

/** The dependencies of POST /api/gw/messages. */
export interface PlatformMessagesDeps extends CallDeps {
  readonly control: Pick<ControlPlane, "identity" | "organizations">;
  readonly directory: KeyDirectory;
  readonly random: Random;
  readonly clock: Clock;
}

const IDENTITY_MS = 5000;
const ORGANIZATIONS_MAX = 100;

/** POST /api/gw/messages: a chat completion for a logged-in user, billed to the API key in its body. Errors have the platform's format. */
export function messagesHandler(deps: PlatformMessagesDeps): RequestHandler {
  return async (request, response) => {
    const callId = newId("call", deps);
    response.setHeader("x-gw-call-id", callId);
    const user = await signedInUser(deps, request, response);
    requireJsonType(request);
    const rawBody = await readBody(request, deps.bodyBytesMax);
    const { apiKey, chatBody } = takeApiKey(parseJson(rawBody));
    const caller = await callerBehind(apiKey, deps);
    if (!caller || !(await user.belongsTo(caller.organizationId))) throw new AppError("UNAUTHORIZED", "apiKey is not valid.");
    requireScope(caller, "inference");
    const taken = deps.takesClientParams() ? takeClientParams(chatBody) : undefined;
    const { routing, ...chat } = chatExchange(parseChatRequest(taken ? taken.rest : chatBody));
    await answerCall(deps, {
      request,
      response,
      callId,
      endpoint: "/api/gw/messages",
      caller,
      ...chat,
      routing: { ...routing, client: taken?.params },
      rawBody,
      pathModel: undefined,
      errors: { status: platformErrorStatus, body: (error) => platformErrorBody(error, requestIdOf(response)) },
    });
  };
}

/** Verifies the token before the body is read. */
async function signedInUser({ control }: PlatformMessagesDeps, request: Request, response: Response) {
  const options = { deadlineMs: IDENTITY_MS, metadata: callMetadata(request, response, bearerToken(request)) };
  const { user, organization } = await control.identity.getMe({}, options);
  return {
    belongsTo: async (organizationId: string): Promise<boolean> => {
      if (organizationId === user?.organizationId || organizationId === organization?.id) return true;
      const page = { page: 1, pageSize: ORGANIZATIONS_MAX };
      const { organizations } = await control.organizations.listOrganizations({ page }, options);
      return organizations.some(({ id }) => id === organizationId);
    },
  };
}

function takeApiKey(body: unknown): { apiKey: string; chatBody: unknown } {
  const { apiKey, ...chatBody } = (typeof body === "object" && body !== null && !Array.isArray(body) ? body : {}) as Record<
    string,
    unknown
  >;
  if (typeof apiKey === "string" && apiKey !== "") return { apiKey, chatBody };
  const message = apiKey === undefined ? FIELD_REQUIRED : "must be a string";
  throw new AppError("UNPROCESSABLE", `apiKey: ${message}`, { details: [{ path: "body.apiKey", message }], param: "apiKey" });
}

// A key of another organization, an unknown key and a malformed one must give the same error.
async function callerBehind(apiKey: string, { directory }: PlatformMessagesDeps): Promise<Caller | undefined> {
  return keyTest(directory)(apiKey) ? await directory.findCaller(secretSha256(apiKey)) : undefined;
}
