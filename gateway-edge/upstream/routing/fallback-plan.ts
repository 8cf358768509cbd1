import type { ErrorClass } from "./error-class.ts";
import type { FallbackMap } from "./fallback-lists.ts";
import type { ClientFallback, RouteCall } from "./route-call.ts";
import type { RouterSettings } from "./settings.ts";

export interface FallbackStep extends ClientFallback {
  /** Named by the client and already authorized; others are checked with `mayUse`. */
  readonly authorized: boolean;
}

export type FallbackType = "general" | "context_window" | "content_policy";

/** Names under which a group's fallbacks may be configured: the requested name (an alias), its own, the configured one (a wildcard). */
export type GroupNames = readonly string[];

/** Which groups to try after one failed in this way. The client's come first, and only after the requested model. */
export function fallbacksAfter(
  kind: ErrorClass,
  names: GroupNames,
  from: { call: RouteCall; settings: RouterSettings; isFirst: boolean },
): FallbackStep[] {
  const { call, settings, isFirst } = from;
  switch (kind) {
    case "ours":
      return [];
    // A prompt that is too long, or refused for its content, would be refused elsewhere too: only fallbacks for this case apply.
    case "context-window":
      return [...authorized(listed(call.clientContextFallbacks, names)), ...configured(fallbacksFor("context_window", names, settings))];
    case "content-policy":
      return [
        ...authorized(listed(call.clientContentPolicyFallbacks, names)),
        ...configured(fallbacksFor("content_policy", names, settings)),
      ];
    default: {
      const own = isFirst
        ? (call.clientFallbacks ?? []).map((step) => ({ ...(typeof step === "string" ? { model: step } : step), authorized: true }))
        : [];
      return [...own, ...configured(fallbacksFor("general", names, settings))];
    }
  }
}

const NONE: readonly string[] = [];

/** The configured fallbacks of a group. */
export function fallbacksFor(type: FallbackType, names: GroupNames, settings: RouterSettings): readonly string[] {
  switch (type) {
    case "general":
      if (settings.fallbacks.size === 0 && settings.defaultFallbacks.length === 0) return NONE;
      return [...new Set([...listed(settings.fallbacks, names), ...settings.defaultFallbacks])].filter((model) => !names.includes(model));
    case "context_window":
      return [...new Set([...listed(settings.contextWindowFallbacks, names), ...(settings.contextWindowFallbacks.get("*") ?? [])])];
    case "content_policy":
      return [...new Set([...listed(settings.contentPolicyFallbacks, names), ...(settings.contentPolicyFallbacks.get("*") ?? [])])];
  }
}

function listed(lists: FallbackMap | undefined, names: GroupNames): readonly string[] {
  const name = names.find((each) => lists?.has(each));
  return name === undefined ? [] : (lists?.get(name) ?? []);
}

function authorized(models: readonly string[]): FallbackStep[] {
  return models.map((model) => ({ model, authorized: true }));
}

function configured(models: readonly string[]): FallbackStep[] {
  return models.map((model) => ({ model, authorized: false }));
}
