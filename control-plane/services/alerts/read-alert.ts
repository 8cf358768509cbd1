import { AppError } from "../../../common/errors.ts";
import type { AlertSettings, AlertThreshold } from "../../../proto/gen/tributary/alerts/v1/alerts.ts";
import type { AlertMetric, AlertRecord } from "../../domain/alerts.ts";
import type { ControlDeps } from "../deps.ts";
import { checkTenantUrl } from "../tenant-url.ts";

/** What the organization chooses of an alert. */
type Chosen = Pick<
  AlertRecord,
  | "name"
  | "metric"
  | "threshold"
  | "windowMinutes"
  | "period"
  | "minRequests"
  | "model"
  | "teamId"
  | "email"
  | "sealedSlackUrl"
  | "slackHost"
>;

/** Settings of a new alert that are not given. */
const DEFAULTS = { windowMinutes: 15, period: "day", minRequests: 10, email: true } as const;

const [NAME_LENGTH_MAX, WINDOW_STEP, WINDOW_MAX, REQUESTS_MAX] = [100, 15, 1440, 1_000_000];

/** Thresholds that a value can reach: latencies are counted in classes up to a minute, spend is limited as purchases are. */
const THRESHOLD_MAX: Readonly<Record<AlertMetric, bigint>> = {
  error_rate: 10_000n,
  latency_p95: 60_000n,
  spend: 1_000_000_000_000_000n,
};
const FIELDS: Readonly<Record<AlertMetric, string>> = { error_rate: "errorRatePercent", latency_p95: "latencyP95Ms", spend: "spend" };

/** The settings of an alert after a request: absent fields stay as they were, or have their default. */
export function readAlert(
  deps: Pick<ControlDeps, "config" | "secrets">,
  settings: AlertSettings | undefined,
  before: AlertRecord | undefined,
): Chosen {
  const given = settings ?? {};
  const model = given.model ?? before?.model ?? "";
  const teamId = given.teamId ?? before?.teamId ?? "";
  return {
    name: checkName(given.name ?? before?.name ?? ""),
    ...readThreshold(given.threshold, before),
    windowMinutes: checkWindow(given.windowMinutes ?? before?.windowMinutes ?? DEFAULTS.windowMinutes),
    period: checkPeriod(given.period ?? before?.period ?? DEFAULTS.period),
    minRequests: checkRequests(given.minRequests ?? before?.minRequests ?? DEFAULTS.minRequests),
    ...(model === "" ? {} : { model }),
    ...(teamId === "" ? {} : { teamId }),
    email: given.email ?? before?.email ?? DEFAULTS.email,
    ...readSlackUrl(deps, given.slackUrl, before),
  };
}

function checkName(name: string): string {
  return name !== "" && name.length <= NAME_LENGTH_MAX ? name : refuse("name", `must have 1 to ${NAME_LENGTH_MAX} characters`);
}

function checkWindow(minutes: number): number {
  const isValid = minutes >= WINDOW_STEP && minutes <= WINDOW_MAX && minutes % WINDOW_STEP === 0;
  return isValid ? minutes : refuse("windowMinutes", `must be a multiple of ${WINDOW_STEP} up to ${WINDOW_MAX}`);
}

function checkPeriod(period: string): AlertRecord["period"] {
  return period === "day" || period === "month" ? period : refuse("period", "must be day or month");
}

function checkRequests(count: number): number {
  return count >= 1 && count <= REQUESTS_MAX ? count : refuse("minRequests", `must be from 1 to ${REQUESTS_MAX}`);
}

function readThreshold(given: AlertThreshold | undefined, before: AlertRecord | undefined): Pick<AlertRecord, "metric" | "threshold"> {
  const set = [
    ["error_rate", given?.errorRate],
    ["latency_p95", given?.latencyP95Ms],
    ["spend", given?.spend],
  ] as const;
  const thresholds = set.flatMap(([metric, threshold]) => (threshold === undefined ? [] : [{ metric, threshold }]));
  const [first] = thresholds;
  if (first === undefined && before) return { metric: before.metric, threshold: before.threshold };
  if (first === undefined || thresholds.length > 1)
    throw invalid("errorRatePercent", "Give exactly one of errorRatePercent, latencyP95Ms and spend.");
  if (first.threshold < 1n || first.threshold > THRESHOLD_MAX[first.metric])
    refuse(FIELDS[first.metric], "is not a threshold that can be reached");
  return first;
}

function readSlackUrl(
  { config, secrets }: Pick<ControlDeps, "config" | "secrets">,
  given: string | undefined,
  before: AlertRecord | undefined,
): Pick<AlertRecord, "sealedSlackUrl" | "slackHost"> {
  if (given === "") return {};
  if (given === undefined) {
    if (before?.sealedSlackUrl === undefined || before.slackHost === undefined) return {};
    return { sealedSlackUrl: before.sealedSlackUrl, slackHost: before.slackHost };
  }
  const rule = { allowPrivate: config.allowPrivateWebhooks, what: "The Slack URL", field: "slackUrl", setting: "ALLOW_PRIVATE_WEBHOOKS" };
  const url = checkTenantUrl(given, rule);
  return { sealedSlackUrl: secrets.seal(Buffer.from(url)), slackHost: new URL(url).host };
}

function refuse(field: string, message: string): never {
  throw invalid(field, `The alert's ${field} ${message}.`, message);
}

function invalid(field: string, text: string, message = text): AppError {
  return new AppError("VALIDATION_ERROR", text, { details: [{ path: `body.${field}`, message }] });
}
