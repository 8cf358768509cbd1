import { Alert, Anchor, SimpleGrid, Skeleton, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Federation } from "../api/types.ts";
import { AccuracyCurve, LossCurve } from "../components/accuracy-curve.tsx";
import { Card } from "../components/card.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { FederationActions } from "./training/federation-actions.tsx";
import { percentOf, statusLine } from "./training/federation-status.ts";
import { PublishCard } from "./training/publish-card.tsx";
import { RewardTable } from "./training/reward-table.tsx";
import { RoundDetail } from "./training/round-detail.tsx";
import { RoundTable } from "./training/round-table.tsx";
import { useLiveFederation } from "./training/use-live-federation.ts";

export function Screen() {
  const { federationId = "" } = useParams({ strict: false }) as { federationId?: string };
  const [address, setAddress] = useAddress();
  const { federation: asked, rounds: listed } = useLiveFederation(federationId);
  const { data: federation, error } = asked;
  const rounds = listed.data;
  const chosen = rounds?.find(({ round }) => round === Number(address.round)) ?? rounds?.at(-1);
  const evaluated = (rounds ?? []).flatMap(({ round, accuracy }) => (accuracy === null ? [] : [{ round, accuracy }]));
  const losses = (rounds ?? []).flatMap(({ round, loss }) => (loss === null ? [] : [{ round, loss }]));
  return (
    <Page
      title={federation?.name ?? "Federation"}
      about={federation && statusLine(federation)}
      action={federation && <FederationActions federation={federation} />}
    >
      {error && <Failure error={error} onRetry={() => void asked.refetch()} />}
      {federation?.failure && (
        <Alert color="red" variant="light" title={federation.failure.message}>
          Code {federation.failure.code}
        </Alert>
      )}
      <Figures federation={federation} />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Card title="Accuracy" about="on held-out data, after each round">
          <Curve isLoading={rounds === undefined} isEmpty={evaluated.length === 0}>
            <AccuracyCurve rounds={evaluated} height={200} />
          </Curve>
        </Card>
        <Card title="Loss" about="on held-out data, after each round; lower is better">
          <Curve isLoading={rounds === undefined} isEmpty={losses.length === 0}>
            <LossCurve rounds={losses} height={200} />
          </Curve>
        </Card>
      </SimpleGrid>
      {federation && <PublishCard federation={federation} />}
      <Card title="Rounds">
        <RoundTable rounds={rounds} selected={chosen?.round} onOpen={(round) => setAddress({ round })} />
      </Card>
      {federation && chosen && <RoundDetail round={chosen} federation={federation} />}
      {federation && rounds && <RewardTable federation={federation} rounds={rounds} />}
      {federation?.head && (
        <Anchor href={`/training/federations/${federation.id}/parameters`} download size="sm">
          Download parameters of round {federation.head.round}
        </Anchor>
      )}
    </Page>
  );
}

function Curve({ isLoading, isEmpty, children }: { isLoading: boolean; isEmpty: boolean; children: ReactNode }) {
  if (isLoading) return <Skeleton height={200} />;
  if (!isEmpty) return children;
  return (
    <Text size="sm" c="dimmed">
      No evaluated rounds yet.
    </Text>
  );
}

function Figures({ federation }: { federation: Federation | undefined }) {
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Stat name="Status" value={federation && <StateBadge state={federation.state} />} note={federation?.phase ?? ""} />
      <Stat name="Rounds" value={federation && `${federation.head?.round ?? 0} of ${federation.rounds}`} note="committed" />
      <Stat name="Accuracy" value={federation && percentOf(federation.head?.accuracy)} note="last committed round" />
      <Stat name="Reward" value={federation && <Usd amount={federation.budgetUsd} />} note="per round, shared by participants" />
    </SimpleGrid>
  );
}
