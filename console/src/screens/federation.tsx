import { Alert, Anchor, SimpleGrid } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { Federation } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { FederationCurves } from "./training/curves/federation-curves.tsx";
import { FederationActions } from "./training/federation-actions.tsx";
import { hasEnded, percentOf, statusLine } from "./training/federation-status.ts";
import { ParticipantLanes } from "./training/participant-lanes.tsx";
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
  const open = rounds?.findLast(({ state, participants }) => state !== "committed" && participants.length > 0);
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
      {federation && open && !hasEnded(federation) && <ParticipantLanes federation={federation} round={open} />}
      {federation && <FederationCurves federation={federation} rounds={rounds?.filter(({ state }) => state === "committed")} />}
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
