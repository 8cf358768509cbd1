import { Code, Stack, Text, Timeline } from "@mantine/core";
import { IconCheck, IconCoins, IconKey, IconListNumbers, IconRoute, IconSum, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { SignedReceipt, UsageLog } from "../../api/types.ts";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { count } from "../../format/text.ts";
import { CallTiming } from "./call-timing.tsx";
import { PriceTable } from "./price-table.tsx";

/** The steps of one call in order: key, limits, routing, usage, price and ledger entry. */
export function CallSteps({ log, signed }: { log: UsageLog; signed: SignedReceipt | undefined }) {
  return log.status === "refused" ? <RefusedSteps log={log} /> : <MadeSteps log={log} signed={signed} />;
}

function MadeSteps({ log, signed }: { log: UsageLog; signed: SignedReceipt | undefined }) {
  const isRefused = log.attempts === 0 && log.status === "error";
  return (
    <Timeline active={6} bulletSize={26} lineWidth={2}>
      <Step icon={<IconKey size={14} />} title="Key accepted">
        {log.apiKeyName} <Code>{log.maskedKey}</Code> of team {log.teamName}
        {log.endUser !== null && `, end user ${log.endUser}`}
      </Step>
      <Step
        icon={isRefused ? <IconX size={14} /> : <IconCheck size={14} />}
        title={isRefused ? "Rejected before any provider was called" : "Limits and credits checked"}
      >
        {isRefused ? `HTTP ${log.httpStatus}, ${log.errorCode ?? "no code"}` : <Reserved log={log} />}
      </Step>
      <Step icon={<IconRoute size={14} />} title={routeTitle(log)}>
        <div>
          {log.provider || "no provider"}
          {log.providerModel && ` ${log.providerModel}`}
          {log.deploymentId && (
            <>
              , deployment <Code>{log.deploymentId}</Code>
            </>
          )}
        </div>
        {log.fallbackFrom !== null && <div>Fallback after {log.fallbackFrom} failed.</div>}
        {log.attemptsDetail.some(({ errorText }) => errorText !== null) && <Attempts log={log} />}
        <div>
          Responded with HTTP {log.httpStatus}
          {log.errorCode !== null && `, ${log.errorCode}`}
        </div>
        <CallTiming log={log} />
      </Step>
      <Step icon={<IconSum size={14} />} title={count(log.usage.total, "token")}>
        {log.usage.source === "provider"
          ? "Reported by the provider."
          : "Estimated by the gateway, because the provider reported no usage."}
      </Step>
      <Step icon={<IconCoins size={14} />} title={<Usd amount={log.costUsd} />}>
        <PriceTable log={log} signed={signed} />
      </Step>
      <Step icon={<IconListNumbers size={14} />} title={log.ledgerSeq === null ? "No ledger entry" : `Ledger entry #${log.ledgerSeq}`}>
        {signed?.receipt.entryHash ? (
          <Stack gap={2}>
            <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
              {signed.receipt.entryHash}
            </Text>
            <div>
              Receipt signed with {signed.algorithm}, key <Code style={{ overflowWrap: "anywhere" }}>{signed.keyId}</Code>
            </div>
          </Stack>
        ) : (
          "A call without cost has no ledger entry."
        )}
      </Step>
    </Timeline>
  );
}

function Step({ icon, title, children }: { icon: ReactNode; title: ReactNode; children: ReactNode }) {
  return (
    <Timeline.Item bullet={icon} title={title}>
      <Text component="div" size="sm" c="dimmed">
        {children}
      </Text>
    </Timeline.Item>
  );
}

/** Nothing was called, so nothing but the key and the reason is known. */
function RefusedSteps({ log }: { log: UsageLog }) {
  return (
    <Timeline active={2} bulletSize={26} lineWidth={2}>
      <Step icon={<IconKey size={14} />} title="Key accepted">
        {log.apiKeyName} <Code>{log.maskedKey}</Code> of team {log.teamName}
      </Step>
      <Step icon={<IconX size={14} />} title={`Refused with HTTP ${log.httpStatus}, ${log.errorCode ?? "no code"}`}>
        <div>{log.reason}</div>
        {log.refused > 1 && <div>This row stands for {count(log.refused, "refusal")} of this key within one minute.</div>}
      </Step>
    </Timeline>
  );
}

function Reserved({ log: { reserved, costUsd } }: { log: UsageLog }) {
  if (reserved === null) return "The worst-case cost was reserved until the final cost was known.";
  return (
    <>
      <Usd amount={usdOf(reserved)} /> was reserved, the worst case; <Usd amount={costUsd} /> was settled.
    </>
  );
}

function Attempts({ log: { attemptsDetail } }: { log: UsageLog }) {
  return attemptsDetail.map(({ deploymentId, provider, status, errorText, latencyMs }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: attempts have no id, and their order does not change.
    <div key={index}>
      Attempt {index + 1}: {provider} <Code>{deploymentId}</Code>, {status === null ? "no answer" : `HTTP ${status}`} after {latencyMs} ms
      {errorText !== null && (
        <Text size="sm" c="var(--mantine-color-error)" style={{ overflowWrap: "anywhere" }}>
          {errorText}
        </Text>
      )}
    </div>
  ));
}

function routeTitle({ cacheHit, attempts, model }: UsageLog): string {
  if (cacheHit) return `${model}, cache hit`;
  return attempts === 0 ? `${model}, no attempt` : `${model}, ${count(attempts, "attempt")}`;
}
