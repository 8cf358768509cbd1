import { AppError } from "../../common/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The gateway chooses address and provider key. A client must not send our stored keys to its own address. */
const REFUSED_FIELDS = [
  "api_base",
  "base_url",
  "api_key",
  "api_version",
  "api_type",
  "custom_llm_provider",
  "user_config",
  "aws_sts_endpoint",
  "aws_web_identity_token",
  "aws_role_name",
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_bedrock_runtime_endpoint",
  "vertex_credentials",
  "azure_ad_token",
  "s3_endpoint_url",
  "sagemaker_base_url",
  "deployment_url",
  "input_cost_per_token",
  "output_cost_per_token",
  // OpenRouter would answer with these models, which the key may not use, at their own prices. A preset of the operator's account names some, too.
  "models",
  "route",
  "preset",
];

/** Azure reads these indexes and databases with the operator's identity; the names are those of its newer and older API. */
const DATA_SOURCES = ["data_sources", "dataSources"];

/** Tiers of providers that cost more than the model's price, which is the only one that a call is billed at. */
const DEARER_TIERS: readonly unknown[] = ["priority", "performance", "reserved", "fast"];

/**
 * Refuses what is the operator's to choose, and what providers bill at other prices than the model's. `where`: the field that the fields are
 * in, with a dot.
 */
export function refuseFields(given: Fields, where = ""): void {
  const refused = REFUSED_FIELDS.find((field) => isSet(given[field]));
  if (refused) throw unsupported(where + refused, `The parameter ${where}${refused} is not accepted from clients.`);
  const source = DATA_SOURCES.find((field) => isSet(given[field]));
  if (source) {
    const advice = "The operator can set data_sources in extra_body of the deployment.";
    throw unsupported(where + source, `The parameter ${where}${source} is not accepted from clients. ${advice}`);
  }
  if ((given["deferred"] ?? false) !== false) {
    const why = "With deferred, which is xAI's, the answer does not come with the call, which is billed by it.";
    throw unsupported(`${where}deferred`, `${why} Leave it out, or use /v1/batches.`);
  }
  refuseDearer(given, where);
  // Some servers read it as if its fields were beside it.
  if (isFields(given["extra_body"])) refuseFields(given["extra_body"], `${where}extra_body.`);
}

/**
 * Containers belong to the provider account, which all tenants share. `/v1/messages` checks whose they are; other APIs do not name them in
 * their answers, but for tools of `/v1/responses`, which have another field for them.
 */
export function refuseContainer(container: unknown): void {
  if (!isSet(container) || (isFields(container) && !isSet(container["id"]))) return;
  throw unsupported("container", "The id of a container is not accepted here. Continue in it with /v1/messages, or leave it out.");
}

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseDearer({ service_tier: tier, plugins, web_search_options: search, tools }: Fields, where: string): void {
  if (DEARER_TIERS.includes(tier)) throw dearer(`${where}service_tier`, `service_tier ${tier}`);
  // Perplexity's, which searches several times, or may.
  const searchType = isFields(search) ? search["search_type"] : undefined;
  if (searchType === "pro" || searchType === "auto") {
    throw dearer(`${where}web_search_options.search_type`, `search_type ${searchType}`);
  }
  // OpenRouter bills pages.
  const scan = listOf(plugins).findIndex((plugin) => isFields(plugin["pdf"]) && plugin["pdf"]["engine"] === "mistral-ocr");
  if (scan >= 0) throw dearer(`${where}plugins[${scan}].pdf.engine`, "The engine mistral-ocr");
  for (const [index, tool] of listOf(tools).entries()) {
    const place = ["container", "environment"].find((name) => isLarge(tool[name]));
    if (place) throw dearer(`${where}tools[${index}].${place}.memory_limit`, "A container of more than 1 GB");
  }
}

/** A session is billed as the smallest container of OpenAI's. */
function isLarge(container: unknown): boolean {
  return isFields(container) && isSet(container["memory_limit"]) && container["memory_limit"] !== "1g";
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map((each) => (isFields(each) ? each : {})) : [];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function dearer(param: string, what: string): AppError {
  return unsupported(param, `${what} costs more than the model's price, which this gateway cannot bill yet. Leave it out.`);
}

function unsupported(param: string, message: string): AppError {
  return new AppError("UNSUPPORTED_PARAMETER", message, { param });
}
