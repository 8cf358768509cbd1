import { AppError, ERROR_CODES } from "../../../common/errors.ts";
import { errorRecord } from "../../schemas/records.ts";
import { PLATFORM_ERRORS, platformErrorBody, platformErrorStatus } from "./error-response.ts";

test.each(ERROR_CODES)("%s becomes one of the eight codes of the platform API, with an error status", (code) => {
  const error = new AppError(code, "Text.", { internal: "secret", details: [{ path: "body.x", message: "y" }] });
  const body = platformErrorBody(error, "req_1");
  expect(errorRecord.strict().safeParse(body).success).toBe(true);
  expect(platformErrorStatus(error)).toBeGreaterThanOrEqual(400);
  expect(JSON.stringify(body)).not.toContain("secret");
});

test("the eight codes keep their own names", () => {
  for (const code of errorRecord.shape.code.options) expect(PLATFORM_ERRORS[code].code).toBe(code);
});

test("details are left out where there are none", () => {
  expect(platformErrorBody(new AppError("NOT_FOUND", "No."), "req_1")).toEqual({ error: "No.", code: "NOT_FOUND", requestId: "req_1" });
});
