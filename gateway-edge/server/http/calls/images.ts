import type { RequestHandler } from "express";
import { AppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import type { ResponseFormat } from "../../../calls/formats/response-format.ts";
import { imageEditsJob, imagesJob } from "../../../calls/inference/jobs/images.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { parseImageEditsForm, parseImagesRequest } from "../../../schemas/calls/images.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { readForm } from "../../uploads/read-form.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";
import { formDigest, refuseEmptyFiles } from "./form-call.ts";
import { pathModelOf } from "./read-call.ts";

const IMAGES_FORMAT: ResponseFormat<Fields> = {
  whole: (answer, { nowMs }) => toJson({ created: Math.floor(nowMs / 1000), ...answer }),
};

/** POST images/generations. */
export function imagesHandler(deps: CallDeps): RequestHandler {
  return callHandler(deps, "/v1/images/generations", ({ body, pathModel }) => {
    const asked = parseImagesRequest(body, pathModel);
    return { job: imagesJob(asked), routing: routingOf(asked), format: IMAGES_FORMAT };
  });
}

/** Sixteen images and a mask. */
const EDIT_LIMITS = { fileFields: ["image", "image[]", "mask"], filesMax: 17, fileBytesMax: 25 * 1024 * 1024 };

/** POST images/edits. The call starts when the whole form is received, because all images count for the price. */
export function imageEditsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const form = readForm(request, EDIT_LIMITS);
    try {
      await form.complete;
      const pathModel = pathModelOf(request);
      const asked = parseImageEditsForm(form.fields, pathModel);
      if (!form.files.some(({ field }) => field !== "mask")) {
        throw new AppError("INVALID_REQUEST", "image: a file is required", { param: "image" });
      }
      refuseEmptyFiles(form);
      await answerCall(deps, {
        request,
        response,
        callId: String(response.locals["callId"]),
        endpoint: "/v1/images/edits",
        caller: callerOf(response),
        job: imageEditsJob({ request: asked, form }),
        routing: routingOf({}),
        format: IMAGES_FORMAT,
        rawBody: await formDigest(form),
        pathModel,
        errors: GATEWAY_ERRORS,
      });
    } finally {
      await form.close();
    }
  };
}
