import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { toJson } from "../../../common/json.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { parseJson, readBody, requireJsonType } from "../../calls/read-body.ts";
import type { OperationDescription, ResponseDescription } from "../../schemas/operation-description.ts";
import { parseRequest } from "../../schemas/request-body.ts";
import { parseQuery } from "../../schemas/request-query.ts";
import { callerOf } from "../middleware/authenticate-key.ts";

type Method = "get" | "post" | "delete";

/** One operation of the gateway: where it is, what it says of itself, and who answers. */
export interface GatewayOperation {
  readonly method: Method;
  readonly paths: readonly string[];
  readonly handler: RequestHandler;
  readonly description: Omit<OperationDescription, "method" | "path" | "auth">;
}

/** A path under `/` and under `/v1/`. */
export const twice = (path: string) => [`/${path}`, `/v1/${path}`] as const;

export interface JsonOperation<Body extends z.ZodType, Query extends z.ZodType> {
  readonly method: Method;
  readonly paths: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** Absent: a body is not read. */
  readonly body?: Body;
  /** A null in the body means something else than an absent field: of a change, to take the field away. */
  readonly keepNulls?: boolean;
  readonly query?: Query;
  readonly answer: z.ZodType;
  /** Whose limit on bodies holds. */
  readonly bodyBytesMax: number;
  readonly handle: (call: JsonCall<z.output<Body>, z.output<Query>>) => Promise<unknown>;
}

export interface JsonCall<Body, Query> {
  readonly body: Body;
  readonly query: Query;
  /** The path's parameter of that name. */
  readonly param: (name: string) => string;
  readonly caller: Caller;
  readonly request: Request;
  readonly response: Response;
}

/** An operation that takes JSON or nothing and gives JSON; an answer of `undefined` means that the handler has answered itself. */
export function jsonOperation<Body extends z.ZodType = z.ZodUndefined, Query extends z.ZodType = z.ZodUndefined>(
  operation: JsonOperation<Body, Query>,
): GatewayOperation {
  const { method, paths, summary, tag, body, query, answer } = operation;
  const names = [...new Set(paths.flatMap((path) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "")))];
  return {
    method,
    paths,
    description: {
      summary,
      tags: [tag],
      body,
      query,
      ...(names.length > 0 ? { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) } : {}),
      responses: { 200: { description: "The answer.", schema: answer }, ...refusals(names.length > 0) },
    },
    handler: async (request, response) => {
      const given = body ? await readJsonBody(request, { ...operation, schema: body }) : undefined;
      const asked = query ? parseQuery(query, request.query) : undefined;
      const result = await operation.handle({
        body: given as z.output<Body>,
        query: asked as z.output<Query>,
        param: (name) => String(request.params[name]),
        caller: callerOf(response),
        request,
        response,
      });
      if (result === undefined) return;
      response.type("application/json").end(toJson(result));
    },
  };
}

/** An empty body counts as an empty object: the official clients send none where every field is optional. */
async function readJsonBody(
  request: Request,
  { schema, bodyBytesMax, keepNulls = false }: { schema: z.ZodType; bodyBytesMax: number; keepNulls?: boolean },
): Promise<unknown> {
  const bytes = await readBody(request, bodyBytesMax);
  if (bytes.length === 0) return parseRequest(schema, {});
  requireJsonType(request);
  return parseRequest(schema, parseJson(bytes), undefined, { keepNulls });
}

const gatewayError = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string().nullable() }),
});

const failure = (description: string): ResponseDescription => ({ description, schema: gatewayError });

function refusals(hasParams: boolean): Readonly<Record<number, ResponseDescription>> {
  return {
    400: failure("The request cannot be understood, or is not possible now."),
    401: failure("No valid API key."),
    ...(hasParams ? { 404: failure("There is no such object, or it is another team's.") } : {}),
    422: failure("The request is not valid; `detail` lists every fault."),
    503: failure("The control plane cannot be reached."),
  };
}

/** What /openapi.json says of operations. */
export function describeGatewayOperations(operations: readonly GatewayOperation[]): OperationDescription[] {
  return operations.flatMap(({ method, paths, description }) =>
    paths.map((path) => ({ method, path: path.replace(/\*(\w+)/g, ":$1"), auth: "key" as const, ...description })),
  );
}
