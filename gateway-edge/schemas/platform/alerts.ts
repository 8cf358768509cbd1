import { z } from "zod";
import { id, name, nanoAmount, plainText } from "../fields.ts";
import { listOf } from "../records.ts";

const URL_LENGTH_MAX = 2048;
const [WINDOW_STEP, WINDOW_MAX, REQUESTS_MAX, LATENCY_MS_MAX] = [15, 1440, 1_000_000, 60_000];
/** 1,000,000 USD. */
const SPEND_MAX = 1_000_000_000_000_000;

const settings = {
  name,
  errorRatePercent: z
    .number()
    .min(0.01)
    .max(100)
    .optional()
    .describe("Fires when this percentage of calls ends in an error. Give exactly one of the three thresholds."),
  latencyP95Ms: z
    .int()
    .min(1)
    .max(LATENCY_MS_MAX)
    .optional()
    .describe("Fires when the 95th percentile of the duration of calls reaches it."),
  spend: nanoAmount
    .min(1, "must be above zero")
    .max(SPEND_MAX, "must be at most 1,000,000 USD")
    .optional()
    .describe("Nano-USD in a `period`."),
  windowMinutes: z
    .int()
    .min(WINDOW_STEP)
    .max(WINDOW_MAX)
    .multipleOf(WINDOW_STEP, `must be a multiple of ${WINDOW_STEP}`)
    .optional()
    .describe("Of error rate and latency; 15 unless set. Whole quarters of an hour are read, so up to 15 minutes more."),
  period: z.enum(["day", "month"]).optional().describe("Of spend, in UTC; day unless set."),
  minRequests: z
    .int()
    .min(1)
    .max(REQUESTS_MAX)
    .optional()
    .describe("With fewer calls in the window, error rate and latency do not fire; 10 unless set."),
  model: plainText(200).nullish().describe("Only calls that requested this model."),
  team_id: id.nullish().describe("Only calls of this team."),
  email: z.boolean().optional().describe("Owners and admins get a mail; true unless set."),
  slackUrl: plainText(URL_LENGTH_MAX)
    .nullish()
    .describe("An incoming webhook of Slack, or of a service with the same format. Never returned."),
};

const alertBody = z.object(settings);
export const createAlertBody = alertBody.refine(
  ({ errorRatePercent, latencyP95Ms, spend }) => [errorRatePercent, latencyP95Ms, spend].filter((each) => each !== undefined).length === 1,
  "Give exactly one of errorRatePercent, latencyP95Ms and spend.",
);
export const updateAlertBody = alertBody.partial();
export type AlertFields = z.infer<typeof updateAlertBody>;

const alertRecord = z
  .object({
    id: z.string(),
    organizationId: z.string(),
    name: z.string(),
    metric: z.enum(["error_rate", "latency_p95", "spend"]),
    errorRatePercent: z.number().nullable(),
    latencyP95Ms: z.bigint().nullable(),
    spend: z.bigint().nullable(),
    windowMinutes: z.int(),
    period: z.string(),
    minRequests: z.int(),
    model: z.string().nullable(),
    team_id: z.string().nullable(),
    email: z.boolean(),
    slackHost: z.string().nullable().describe("The host of `slackUrl`; the rest of it is a secret."),
    state: z.enum(["ok", "firing"]),
    since: z.date(),
    value: z
      .union([z.bigint(), z.number()])
      .nullable()
      .describe("Percent, milliseconds or nano-USD, written every few minutes; null: not known yet, or too few calls."),
    checkedAt: z.date().nullable(),
    createdBy: z.bigint(),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: "Alert" });

const alertDeliveryRecord = z
  .object({
    id: z.string(),
    type: z.string(),
    receiver: z.string().describe("A mail address, or `slack`."),
    status: z.string(),
    attempts: z.int(),
    httpStatus: z.int().nullable(),
    error: z.string().nullable(),
    createdAt: z.date(),
    deliveredAt: z.date().nullable(),
    nextAttemptAt: z.date().nullable(),
  })
  .meta({ id: "AlertDelivery" });

export type AlertRecord = z.infer<typeof alertRecord>;
export type AlertDeliveryRecord = z.infer<typeof alertDeliveryRecord>;

export const listAlertsAnswer = listOf(alertRecord);
export const alertAnswer = z.object({ alert: alertRecord });
export const deletedAlertAnswer = z.object({ deleted: z.literal(true), id: z.string() });
export const testedAlertAnswer = z.object({ receivers: z.int() });
export const listAlertDeliveriesAnswer = listOf(alertDeliveryRecord);
