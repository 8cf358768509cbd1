import type { z } from "zod";
import type { Session } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams, pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/auth.ts";
import type { openSessionRecord } from "../../schemas/records.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { presentList, sent } from "./present.ts";

const tag = "Account";

export function sessionOperations(deps: EdgeDeps): Operation[] {
  return [listSessions(deps), endSession(deps), endOtherSessions(deps)];
}

const listSessions = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/auth/sessions",
    summary: "List the caller's sessions, newest first; `lastUsedAt` is the time of the log-in or of the last refresh",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listSessionsAnswer,
    handler: async ({ query }, call) => {
      const { sessions, meta } = await control.identity.listSessions({ page: query }, call.read());
      return presentList(sessions, meta, presentSession);
    },
  });

const endSession = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/auth/sessions/:id",
    summary: "End one of the caller's sessions",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.endedSessionsAnswer,
    handler: async ({ params }, call) => {
      await control.identity.endSession(params, call.write());
      return { ended: 1 };
    },
  });

const endOtherSessions = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/auth/sessions",
    summary: "End all sessions of the caller except the current one",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.endedSessionsAnswer,
    handler: async (_input, call) => {
      const { ended } = await control.identity.endOtherSessions({}, call.write());
      return { ended };
    },
  });

function presentSession(session: Session): z.infer<typeof openSessionRecord> {
  const { id, userAgent, address, current } = session;
  return {
    id,
    createdAt: sent(session.createdAt, "createdAt"),
    lastUsedAt: sent(session.lastUsedAt, "lastUsedAt"),
    expiresAt: sent(session.expiresAt, "expiresAt"),
    userAgent: userAgent ?? null,
    address: address ?? null,
    current,
  };
}
