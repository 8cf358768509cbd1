import { type Request, Router } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { onlyMethods } from "./methods.ts";
import { withinTenant } from "./tenant.ts";

const ID_CHARACTERS_MAX = 256;

/**
 * `POST /v1/rounds/{round_id}/close`: calls with that `round_id` are answered with 409 ROUND_CLOSED from now on. `DELETE` reopens the
 * round.
 */
export function roundRoutes({ rounds }: Pick<TrainerDeps, "rounds">): Router {
  const router = Router();
  const path = "/v1/rounds/:id/close";
  router.post(path, (request, response) => {
    const id = roundOf(request);
    rounds.close(withinTenant(request, id));
    response.json({ round_id: id, status: "closed" });
  });
  router.delete(path, (request, response) => {
    const id = roundOf(request);
    rounds.open(withinTenant(request, id));
    response.json({ round_id: id, status: "open" });
  });
  router.all(path, onlyMethods("POST", "DELETE"));
  return router;
}

function roundOf(request: Request): string {
  const id = String(request.params["id"]);
  if (id.length > ID_CHARACTERS_MAX)
    throw new TrainerError("VALIDATION_ERROR", `round_id must have at most ${ID_CHARACTERS_MAX} characters`, {
      details: { field: "round_id" },
    });
  return id;
}
