import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { TrainerError } from "../errors.ts";
import { errorResponse } from "./error-response.ts";
import { requestIds } from "./request-id.ts";

async function failingAnswer(withIds: boolean): Promise<{ header: string | null; text: string }> {
  const app = express();
  if (withIds) app.use(requestIds({ clock: systemClock, random: systemRandom }));
  app.use(() => {
    throw new TrainerError("NOT_FOUND", "There is nothing here.");
  });
  app.use(errorResponse(silentLogger));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return { header: answer.headers.get("x-request-id"), text: await answer.text() };
  } finally {
    server.close();
  }
}

test("an error has the request id of its header, and no field at all where an app sets none", async () => {
  const { header, text } = await failingAnswer(true);
  expect(JSON.parse(text)).toEqual({ error: "There is nothing here.", code: "NOT_FOUND", request_id: header });
  const without = await failingAnswer(false);
  expect(JSON.parse(without.text)).toEqual({ error: "There is nothing here.", code: "NOT_FOUND" });
});
