import { AppError } from "../../common/errors.ts";
import { gatewayErrorBody } from "./gateway-error.ts";

const SENTENCE = "The request was rejected as a result of the safety system.";

test("a content refusal has the sentence that LiteLLM's client knows, once", () => {
  const messageOf = (text: string) => gatewayErrorBody(new AppError("CONTENT_POLICY_VIOLATION", text)).error.message;
  expect(messageOf("The guardrail g blocked the prompt.")).toBe(`The guardrail g blocked the prompt. ${SENTENCE}`);
  expect(messageOf(`Sorry: ${SENTENCE.toLowerCase()}`)).toBe(`Sorry: ${SENTENCE.toLowerCase()}`);
  expect(gatewayErrorBody(new AppError("NOT_FOUND", "No.")).error.message).toBe("No.");
});
