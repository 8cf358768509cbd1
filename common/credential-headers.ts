/** The headers that may hold an API key of the gateway, in lower case: read by the edge, never forwarded, and masked in what people see. */
export const CREDENTIAL_HEADERS = ["x-gw-api-key", "x-litellm-api-key", "authorization", "x-api-key", "api-key"] as const;
