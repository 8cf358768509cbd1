import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ApiError, get } from "../api/client.ts";
import { keysQuery, logsQuery, quotaQuery, teamsQuery } from "../api/queries.ts";
import { Failure } from "../components/failure.tsx";
import { useLastSecret } from "../components/last-secret.ts";
import { Page } from "../components/page.tsx";
import { Snippets } from "../components/snippets.tsx";
import { Usd } from "../components/usd.tsx";
import { useBuy } from "../components/use-buy.ts";
import { useHasScreen } from "../components/use-has-screen.ts";
import { nanoOf } from "../format/money.ts";
import { ago, count, formatMs } from "../format/text.ts";
import { FirstCall } from "./start/first-call.tsx";
import { FirstKey } from "./start/first-key.tsx";
import { Step } from "./start/step.tsx";

const LIVE_MS = 1_500;

/** A checklist that reads the real state, so that it is correct however a step was done. */
export function Screen() {
  const live = { refetchInterval: LIVE_MS };
  const keys = useQuery({ ...keysQuery(), ...live });
  const quota = useQuery({ ...quotaQuery, ...live });
  const logs = useQuery({ ...logsQuery({ pageSize: 1, status: "success" }), ...live });
  const teams = useQuery({ ...teamsQuery(), ...live });
  const trained = useQuery({ queryKey: ["federations", "trained"], queryFn: countTrained, refetchInterval: 10_000, retry: false });
  const hasTraining = useHasScreen("/training");
  const models = typeof trained.data === "number" ? trained.data : undefined;
  const failed = [keys, quota, logs, teams].find(({ error }) => error);
  const firstKey = keys.data?.data[0];
  const lastCall = logs.data?.data[0];
  const hasCredit = quota.data !== undefined && (nanoOf(quota.data.balanceUsd) > 0n || nanoOf(quota.data.totalPurchasedUsd) > 0n);
  const steps = [
    firstKey !== undefined,
    hasCredit,
    lastCall !== undefined,
    (teams.data?.data ?? []).some(({ memberCount }) => memberCount > 1),
    ...(models === undefined ? [] : [models > 0]),
  ];
  const done = steps.filter(Boolean).length;
  return (
    <Page title="Getting started" about={`${done} of ${count(steps.length, "step")} done. The list updates automatically.`}>
      {failed && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      <Stack gap="sm">
        <Step number={1} title="Create an API key" isDone={steps[0]} summary={firstKey && `${firstKey.name}, ${firstKey.maskedKey}`}>
          <FirstKey />
        </Step>
        <Step number={2} title="Buy credits" isDone={steps[1]} summary={quota.data && <BalanceLine usd={quota.data.balanceUsd} />}>
          <FirstCredits methods={quota.data?.paymentMethods ?? []} />
        </Step>
        <Step
          number={3}
          title="Make your first call"
          isDone={steps[2]}
          isOpen
          summary={lastCall && `${lastCall.model} responded ${ago(lastCall.createdAt)} in ${formatMs(lastCall.latencyMs)}`}
        >
          <CallExamples maskedKey={firstKey?.maskedKey} isWaiting={!steps[2]} />
        </Step>
        <Step number={4} title="Invite a member" isDone={steps[3]} summary="Your team has several members.">
          <Text size="sm" mb="sm">
            Members use the team's models and credits with their own API keys.
          </Text>
          <Button component={Link} to={`/teams/${teams.data?.data[0]?.id ?? ""}`} variant="default" disabled={!teams.data?.data[0]}>
            Open {teams.data?.data[0]?.name ?? "the team"}
          </Button>
        </Step>
        {models !== undefined && (
          <Step number={5} title="Train a model" isDone={steps[4]} summary={`${count(models, "federation")} completed.`}>
            <Text size="sm">
              Participants train on their own data and share only model updates.{" "}
              {hasTraining ? (
                <Anchor component={Link} to="/training" inherit underline="always">
                  Open training
                </Anchor>
              ) : (
                <Anchor href="/docs#training" inherit underline="always">
                  See the training API
                </Anchor>
              )}
            </Text>
          </Step>
        )}
      </Stack>
    </Page>
  );
}

/** Number of completed federations; "none" if this server offers no training. */
async function countTrained(): Promise<number | "none"> {
  try {
    return (await get<{ meta: { total: number } }>("/training/federations", { state: "completed", pageSize: 1 })).meta.total;
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return "none";
    throw error;
  }
}

function BalanceLine({ usd }: { usd: string }) {
  return (
    <>
      The balance is <Usd amount={usd} fw={600} />.
    </>
  );
}

function FirstCredits({ methods }: { methods: readonly string[] }) {
  const { buy, isBuying } = useBuy();
  return (
    <>
      <Text size="sm" mb="sm">
        Calls are billed to your credits. {methods.includes("test") && "On this server you can get free test credits."}
      </Text>
      <Group>
        {methods.includes("test") && (
          <Button loading={isBuying} onClick={() => buy({ amountUsd: "5.00", method: "test" })}>
            Get $5.00 in test credits
          </Button>
        )}
        <Button component={Link} to="/credits" variant="default">
          Other amounts
        </Button>
      </Group>
    </>
  );
}

function CallExamples({ maskedKey, isWaiting }: { maskedKey: string | undefined; isWaiting: boolean }) {
  const last = useLastSecret();
  return (
    <Stack gap="sm">
      {!last && (
        <Text size="sm" c="dimmed">
          {maskedKey
            ? `Replace YOUR_KEY with the secret of ${maskedKey}, which was shown once when the key was created.`
            : "Create a key first. The examples then include it."}
        </Text>
      )}
      <Snippets secret={last?.secret ?? "YOUR_KEY"} />
      {last && <FirstCall secret={last.secret} />}
      {isWaiting && (
        <Text size="sm" role="status">
          Waiting for the first call…
        </Text>
      )}
    </Stack>
  );
}
