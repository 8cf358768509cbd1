import type { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { orElse } from "../../../../common/ignore.ts";
import type { Capability } from "../../../../common/training/capabilities.ts";
import { isOpen } from "../../../../common/training/enrollment-settings.ts";
import { inabilityText, needsOf } from "../../../../common/training/federation-needs.ts";
import { NO_UNTRAINED_START, startsUntrained } from "../../../../common/training/untrained-start.ts";
import { connectCoordinator } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { createFederationBody } from "../../../schemas/platform/training.ts";
import type { OperationCall } from "../../middleware/operation.ts";

type Body = z.infer<typeof createFederationBody>;
type Incapable = { readonly index: number; readonly missing: readonly Capability[] };

/** One of them is enough for a base of round 1: `steps` are those of built-in tasks, whose new model the coordinator can make. */
const START: readonly Capability[] = ["initial", "steps"];

/** Refuses participants that lack a capability for the federation's privacy or strategy, before its first round. */
export async function refuseUnable({ control, config }: EdgeDeps, body: Body, call: OperationCall): Promise<void> {
  const { participants, ...settings } = body;
  const needs = needsOf(settings);
  const looked = [...new Set([...needs, ...(startsUntrained(settings) ? START : [])])];
  if (looked.length === 0) return;
  // Participants' addresses are only contacted for authenticated callers.
  await control.training.checkCaller({}, call.read());
  const asked = { participants: participants.map(({ url = "", token = "", secret = "" }) => ({ url, token, secret })), needs: looked };
  const unable = connectCoordinator(config).unable(asked, call.read());
  const cannot = await orElse(unable, [], "a coordinator that is unavailable checks this itself later");
  refuse(lackingNeeds(body, cannot, needs));
  refuse(lackingStart(body, cannot));
}

type Detail = { readonly path: string; readonly message: string };

function lackingNeeds({ participants, ...settings }: Body, cannot: readonly Incapable[], needs: readonly Capability[]): Detail[] {
  return cannot.flatMap(({ index, missing: all }) => {
    const missing = all.filter((capability) => needs.includes(capability));
    const message = `${participants[index]?.url} ${inabilityText(missing, settings)}`;
    return missing.length === 0 ? [] : [{ path: `body.participants.${index}.url`, message }];
  });
}

/** A federation fails later if those that cannot be asked now, or join later, cannot give a base either. */
function lackingStart(body: Body, cannot: readonly Incapable[]): Detail[] {
  const { participants } = body;
  if (!startsUntrained(body) || isOpen(body)) return [];
  const lacking = new Set(
    cannot.filter(({ missing }) => START.every((capability) => missing.includes(capability))).map(({ index }) => index),
  );
  const isLacking = participants.every(({ federation }, index) => federation !== undefined || lacking.has(index));
  return isLacking ? [{ path: "body.initial", message: `is missing: ${NO_UNTRAINED_START}` }] : [];
}

function refuse(details: readonly Detail[]): void {
  const [first] = details;
  if (first) throw new AppError("VALIDATION_ERROR", `The request is not valid: ${first.path}: ${first.message}`, { details: [...details] });
}
