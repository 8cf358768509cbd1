import type { CallRequest } from "../../../calls/http-exchange.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import type { CallDeps } from "./answer-call.ts";

/** What the request of a call says: its body, as bytes and as JSON, and the model in its path. */
export interface ReadCall {
  readonly rawBody: Buffer;
  readonly body: unknown;
  readonly pathModel: string | undefined;
}

export function readCall({ bodyBytesMax }: Pick<CallDeps, "bodyBytesMax">, request: CallRequest): ReadCall | Promise<ReadCall> {
  requireJsonType(request);
  const rawBody = readBody(request, bodyBytesMax);
  return rawBody instanceof Promise ? rawBody.then((bytes) => parseCall(request, bytes)) : parseCall(request, rawBody);
}

function parseCall(request: CallRequest, rawBody: Buffer): ReadCall {
  const body = parseJson(rawBody);
  // If the call is refused, its row names the requested model. Not in the request: a field that the class does not have costs every call.
  if (request.res) request.res.locals["body"] = body;
  return { rawBody, body, pathModel: pathModelOf(request) };
}

export function pathModelOf(request: CallRequest): string | undefined {
  const { model, modelRest } = request.params;
  return modelRest === undefined ? (model as string | undefined) : [model, modelRest].flat().join("/");
}
