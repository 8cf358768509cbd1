import type { ValueType } from "./value-types.ts";

export type SectionName = "router_settings" | "litellm_settings" | "general_settings";

const FALLBACKS = {
  fallbacks: "fallbacks",
  context_window_fallbacks: "fallbacks",
  content_policy_fallbacks: "fallbacks",
  default_fallbacks: "texts",
} as const;

/** Supported settings with their types. Edges receive them unchanged, except secrets. */
export const SUPPORTED: Readonly<Record<SectionName, Readonly<Record<string, ValueType>>>> = {
  router_settings: {
    ...FALLBACKS,
    routing_strategy: "text",
    routing_strategy_args: "map",
    num_retries: "count",
    timeout: "number",
    stream_timeout: "number",
    retry_after: "number",
    max_fallbacks: "count",
    model_group_alias: "aliases",
    allowed_fails: "count",
    allowed_fails_policy: "map",
    cooldown_time: "number",
    disable_cooldowns: "flag",
    retry_policy: "map",
    model_group_retry_policy: "map",
    enable_pre_call_checks: "flag",
    enable_tag_filtering: "flag",
    tag_filtering_match_any: "flag",
    default_max_parallel_requests: "count",
    routing_groups: "list",
    optional_pre_call_checks: "texts",
    deployment_affinity_ttl_seconds: "number",
    // Extensions; LiteLLM has none of these.
    retry_budget: "flag or map",
    connect_timeout: "number",
    stream_idle_timeout: "number",
    stream_total_timeout: "number",
  },
  litellm_settings: {
    ...FALLBACKS,
    drop_params: "flag",
    num_retries: "count",
    request_timeout: "number",
    allowed_fails: "count",
    model_alias_map: "aliases",
    cache: "flag",
    enable_json_schema_validation: "flag",
  },
  general_settings: {
    master_key: "secret",
    store_model_in_db: "flag",
    // An extension: keys without a list of models may call providers directly.
    pass_through: "flag",
    // An extension: these keys may also read and change objects of the provider account, which all tenants share.
    pass_through_account: "flag",
  },
};

export const ROUTING_STRATEGIES: readonly string[] = [
  "simple-shuffle",
  "least-busy",
  "latency-based-routing",
  "usage-based-routing",
  "usage-based-routing-v2",
  "cost-based-routing",
];

/** LiteLLM's settings that have no effect here, to distinguish them from spelling mistakes, with a hint what to do instead. */
export const NOT_SUPPORTED: Readonly<Record<SectionName, Readonly<Record<string, string>>>> = {
  router_settings: {
    ...plainNames(`cache_responses caching_groups provider_budget_config
      model_group_affinity_config enable_health_check_routing health_check_staleness_threshold
      ignore_invalid_deployments default_priority polling_interval debug_level set_verbose client_ttl`),
    ...sharedHint("redis_host redis_port redis_password redis_url redis_db", "edges share their limits through the control plane"),
  },
  litellm_settings: {
    ...plainNames(`callbacks success_callback failure_callback service_callback redact_user_api_key_info max_budget budget_duration
      max_end_user_budget max_end_user_budget_id max_internal_user_budget internal_user_budget_duration default_internal_user_params
      default_key_generate_params upperbound_key_generate_params default_team_settings default_team_params key_generation_settings
      model_group_settings ssl_verify cost_discount_config cost_margin_config prometheus_metrics_config
      custom_prometheus_metadata_labels include_cost_in_streaming_usage force_ipv4 modify_params disable_hf_tokenizer_download
      enable_preview_features default_redis_batch_cache_expiry telemetry guardrails public_model_groups`),
    ...sharedHint("set_verbose json_logs", "logs are JSON; LOG_LEVEL says how much"),
    ...sharedHint("turn_off_message_logging", "prompts are never logged"),
    ...sharedHint("store_audit_logs", "every administrative write is in the audit log"),
  },
  general_settings: {
    ...plainNames(`completion_model moderation_model infer_model_from_keys allowed_routes admin_only_routes public_routes allowed_ips
      use_x_forwarded_for trusted_proxy_ranges custom_auth enable_jwt_auth litellm_jwtauth enable_oauth2_auth enforce_user_param
      enforced_params max_request_size_mb max_response_size_mb global_max_parallel_requests max_parallel_requests
      background_health_checks health_check_interval health_check_details alerting alerting_threshold alert_types alerting_args
      alert_to_webhook_url store_prompts_in_spend_logs maximum_spend_logs_retention_period user_header_name user_header_mappings
      litellm_key_header_name pass_through_endpoints key_management_system key_management_settings forward_client_headers_to_llm_api
      always_include_stream_usage allow_client_side_credentials reject_clientside_metadata_tags user_api_key_cache_ttl ui_access_mode
      disable_error_logs role_permissions token_rate_limit_type supported_db_objects custom_key_generate custom_sso
      allow_user_auth default_team_disabled disable_spend_logs disable_master_key_return enable_public_model_hub block_robots`),
    ...sharedHint(
      "database_url database_connection_pool_limit database_connection_timeout database_type",
      "the store is built in; MONGODB_URI names another",
    ),
    ...sharedHint(
      "proxy_batch_write_at proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time use_redis_transaction_buffer",
      "usage is settled when a call ends",
    ),
    ...sharedHint("allow_requests_on_db_unavailable disable_adding_master_key_hash_to_db", "there is no equivalent"),
  },
};

export const SECTIONS: readonly string[] = [
  "model_list",
  "litellm_settings",
  "router_settings",
  "general_settings",
  "environment_variables",
  "credential_list",
  "include",
  "guardrails",
];

export const SECTIONS_NOT_SUPPORTED: readonly string[] =
  `policies mcp_servers mcp_tools assistant_settings files_settings finetune_settings vector_store_registry search_tools prompts
   callback_settings agent_list mcp_aliases worker_registry litellm_jwtauth`.split(/\s+/);

/** Types of the parameters that the gateway reads. Any other parameter is passed to the provider, as in LiteLLM. */
export const LITELLM_PARAMS: Readonly<Record<string, ValueType>> = {
  model: "text",
  api_key: "text",
  api_base: "text",
  base_url: "text",
  api_version: "text",
  organization: "text or texts",
  custom_llm_provider: "text",
  litellm_credential_name: "text",
  timeout: "number",
  stream_timeout: "number",
  max_retries: "count",
  num_retries: "count",
  rpm: "count",
  tpm: "count",
  max_parallel_requests: "count",
  weight: "number",
  order: "count",
  tags: "texts",
  cooldown_time: "number",
  drop_params: "flag",
  extra_headers: "map",
  extra_body: "map",
  configurable_clientside_auth_params: "list",
  // Extensions; LiteLLM has none of these.
  api_key_file: "text",
  ca_file: "text",
  client_cert_file: "text",
  client_key_file: "text",
};

export const MODEL_INFO: Readonly<Record<string, ValueType>> = {
  id: "text",
  mode: "text",
  base_model: "text",
  description: "text",
  access_groups: "texts",
  max_tokens: "count",
  max_input_tokens: "count",
  max_output_tokens: "count",
};

function plainNames(names: string): Record<string, string> {
  return sharedHint(names, "");
}

function sharedHint(names: string, hint: string): Record<string, string> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, hint]));
}
