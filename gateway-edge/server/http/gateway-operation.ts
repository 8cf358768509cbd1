import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { parseJson, readBody, requireJsonType } from "../../calls/read-body.ts";
import type { OperationDescription, ResponseDescription } from "../../schemas/operation-description.ts";
import { parseRequest } from "../../schemas/request-body.ts";
import { parseQuery } from "../../schemas/request-query.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import { type AnswerOnce, sendAnswer } from "./calls/answer-once.ts";

type Method = "get" | "post" | "delete";

/** One operation of the gateway API: its paths, its handler and its OpenAPI entry. */
export interface GatewayOperation {
  readonly method: Method;
  readonly paths: readonly string[];
  readonly handler: RequestHandler;
  /** As of a gated route. */
  readonly makesCall?: boolean | undefined;
  readonly description: Omit<OperationDescription, "method" | "path" | "auth">;
}

/** A path under `/` and under `/v1/`. */
export const twice = (path: string) => [`/${path}`, `/v1/${path}`] as const;

/** The declaration of an operation with JSON in and out. Every POST is done once under an Idempotency-Key. */
export type JsonOperation<Body extends z.ZodType, Query extends z.ZodType> = JsonOperationFields<Body, Query> &
  ({ readonly method: "post"; readonly once: AnswerOnce } | { readonly method: "get" | "delete" });

interface JsonOperationFields<Body extends z.ZodType, Query extends z.ZodType> {
  readonly paths: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** If absent, the body is not read. */
  readonly body?: Body;
  /** Passes nulls of the body to the handler: in a change, null clears a field. */
  readonly keepNulls?: boolean;
  readonly query?: Query;
  /** As of a gated route. */
  readonly makesCall?: boolean;
  readonly answer: z.ZodType;
  /** The size limit of the body. */
  readonly bodyBytesMax: number;
  /** Resolves to the answer, to a StreamedAnswer, or to undefined if it has sent the response itself. */
  readonly handle: (call: JsonCall<z.output<Body>, z.output<Query>>) => Promise<unknown>;
  /** Of an operation that streams if its body says so: streams again what an earlier request with the same Idempotency-Key created. */
  readonly streamAgain?: (call: JsonCall<z.output<Body>, z.output<Query>>, stored: unknown) => Promise<void>;
}

/** The validated input of one request. */
export interface JsonCall<Body, Query> {
  readonly body: Body;
  readonly query: Query;
  /** A path parameter. */
  readonly param: (name: string) => string;
  readonly caller: Caller;
  readonly request: Request;
  readonly response: Response;
}

/** Makes an operation that validates its input and sends JSON. */
export function jsonOperation<Body extends z.ZodType = z.ZodUndefined, Query extends z.ZodType = z.ZodUndefined>(
  operation: JsonOperation<Body, Query>,
): GatewayOperation {
  const { method, paths, summary, tag, body, query, makesCall, answer } = operation;
  const names = [...new Set(paths.flatMap((path) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "")))];
  return {
    method,
    paths,
    makesCall,
    description: {
      summary,
      tags: [tag],
      body,
      query,
      ...(names.length > 0 ? { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) } : {}),
      responses: { 200: { description: "The response.", schema: answer }, ...refusals(method, names.length > 0) },
    },
    handler: async (request, response) => {
      const bytes = body ? await readBody(request, operation.bodyBytesMax) : NO_BYTES;
      const given = body ? parseBody(request, bytes, { ...operation, schema: body }) : undefined;
      const asked = query ? parseQuery(query, request.query) : undefined;
      const call: JsonCall<z.output<Body>, z.output<Query>> = {
        body: given as z.output<Body>,
        query: asked as z.output<Query>,
        param: (name) => String(request.params[name]),
        caller: callerOf(response),
        request,
        response,
      };
      if (operation.method !== "post") return await sendAnswer(response, await operation.handle(call));
      const { once, streamAgain } = operation;
      const endpoint = (paths.at(-1) ?? "").replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(call.param(name)));
      await once({
        ...{ request, response, endpoint, body: () => bytes, work: () => operation.handle(call) },
        streamAgain: streamAgain && isStreamed(given) ? (stored) => streamAgain(call, stored) : undefined,
      });
    },
  };
}

const NO_BYTES = Buffer.alloc(0);

const isStreamed = (body: unknown) => (body as { stream?: unknown } | undefined)?.stream === true;

/** An empty body counts as an empty object: the official clients send none if all fields are optional. */
function parseBody(request: Request, bytes: Buffer, { schema, keepNulls = false }: { schema: z.ZodType; keepNulls?: boolean }): unknown {
  if (bytes.length === 0) return parseRequest(schema, {});
  requireJsonType(request);
  return parseRequest(schema, parseJson(bytes), undefined, { keepNulls });
}

const gatewayError = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string().nullable() }),
});

/** An error response of the gateway API in /openapi.json. */
export const failure = (description: string): ResponseDescription => ({ description, schema: gatewayError });

/** Of operations under an Idempotency-Key. */
export const CONFLICT = failure("The Idempotency-Key was used with another body, or its request is still running.");

function refusals(method: Method, hasParams: boolean): Readonly<Record<number, ResponseDescription>> {
  return {
    400: failure("The request is malformed, or the state of the object does not allow it."),
    401: failure("No valid API key."),
    ...(hasParams ? { 404: failure("The object does not exist or belongs to another team.") } : {}),
    ...(method === "post" ? { 409: CONFLICT } : {}),
    422: failure("The request is not valid; `detail` lists all errors."),
    503: failure("The control plane cannot be reached."),
  };
}

/** The OpenAPI entries of operations, one per path. */
export function describeGatewayOperations(operations: readonly GatewayOperation[]): OperationDescription[] {
  return operations.flatMap(({ method, paths, description }) =>
    paths.map((path) => ({ method, path: path.replace(/\*(\w+)/g, ":$1"), auth: "key" as const, ...description })),
  );
}
