import type { GetContentResponse } from "../../../proto/gen/tributary/contents/v1/contents.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/contents.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { sent } from "./present.ts";

export function contentOperations(deps: EdgeDeps): Operation[] {
  return [getContent(deps)];
}

const getContent = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/logs/:id/content",
    summary: "Prompt and answer of a call, where logContent stored them; each read is in the audit log",
    tag: "Usage",
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.contentAnswer,
    handler: async ({ params }, call) => ({
      content: presentContent(await control.contents.getContent({ callId: params.id }, call.read())),
    }),
  });

function presentContent({ content, createdAt, expiresAt }: GetContentResponse) {
  const { prompt, promptTruncated, answer, answerTruncated } = sent(content, "content");
  return {
    prompt: JSON.parse(prompt) as Record<string, unknown>,
    promptTruncated,
    answer: answer === undefined ? null : (JSON.parse(answer) as Record<string, unknown>),
    answerTruncated,
    createdAt: sent(createdAt, "createdAt"),
    expiresAt: sent(expiresAt, "expiresAt"),
  };
}
