import type { RequestHandler } from "express";
import { AppError } from "../../common/errors.ts";
import { toJson } from "../../common/json.ts";
import { imageEditsJob, imagesJob } from "../inference/jobs/images.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { Fields } from "../providers/provider.ts";
import { parseImageEditsForm, parseImagesRequest } from "../schemas/images.ts";
import { readForm } from "../uploads/read-form.ts";
import { answerCall, type CallDeps, GATEWAY_WORDING, pathModelOf, readCall, routingOf, type Wire } from "./answer-call.ts";
import { formDigest, refuseEmptyFiles } from "./form-call.ts";

const IMAGES_WIRE: Wire<Fields> = {
  whole: (answer, { nowMs }) => toJson({ created: Math.floor(nowMs / 1000), ...answer }),
};

/** POST images/generations. */
export function imagesHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const asked = parseImagesRequest(body, pathModel);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/images/generations",
      caller: callerOf(response),
      job: imagesJob(asked),
      routing: routingOf(asked),
      wire: IMAGES_WIRE,
      rawBody,
      pathModel,
      errors: GATEWAY_WORDING,
    });
  };
}

/** Sixteen images and a mask. */
const EDIT_LIMITS = { fileFields: ["image", "image[]", "mask"], filesMax: 17, fileBytesMax: 25 * 1024 * 1024 };

/** POST images/edits. Sent on when it is here as a whole: all its images count for the price. */
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
        wire: IMAGES_WIRE,
        rawBody: await formDigest(form),
        pathModel,
        errors: GATEWAY_WORDING,
      });
    } finally {
      await form.close();
    }
  };
}
