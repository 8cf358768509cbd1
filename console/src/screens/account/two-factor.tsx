import { Badge, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { get } from "../../api/client.ts";
import { Card } from "../../components/card.tsx";
import { Failure, notifyDone } from "../../components/failure.tsx";
import { showSecret } from "../../components/shown-secret.ts";
import { count } from "../../format/text.ts";
import { sessionsKey } from "./sessions.tsx";

/** The dialogs are loaded when they are opened, with the QR code. */
const SetUp = lazy(async () => ({ default: (await import("./two-factor-set-up.tsx")).SetUp }));
const NewCodes = lazy(async () => ({ default: (await import("./two-factor-codes.tsx")).NewCodes }));
const TurnOff = lazy(async () => ({ default: (await import("./two-factor-codes.tsx")).TurnOff }));

const FEW_CODES = 3;

interface Totp {
  enabled: boolean;
  recoveryCodesLeft: number;
}

/** Two-factor authentication of the user: set-up, new recovery codes, and its end. */
export function TwoFactor() {
  const { data, error } = useQuery({ queryKey: ["totp"], queryFn: ({ signal }) => get<Totp>("/api/auth/totp", undefined, signal) });
  const [open, setOpen] = useState<"set-up" | "codes" | "off" | undefined>();
  const queryClient = useQueryClient();
  const close = () => setOpen(undefined);
  const refresh = async () => {
    close();
    await Promise.all([queryClient.invalidateQueries({ queryKey: ["totp"] }), queryClient.invalidateQueries({ queryKey: sessionsKey })]);
  };
  const showCodes = async (recoveryCodes: string[]) => {
    showSecret({ title: "Recovery codes", secrets: recoveryCodes, fileName: "tributary-recovery-codes.txt" });
    await refresh();
  };
  const turnedOff = async () => {
    notifyDone("Two-factor authentication is off.");
    await refresh();
  };
  return (
    <Card title="Two-factor authentication" about="Log-ins also need a code of an authenticator app.">
      <Failure error={error} />
      {!data && !error && <Skeleton height={36} />}
      {data && (data.enabled ? <On left={data.recoveryCodesLeft} onOpen={setOpen} /> : <Off onOpen={() => setOpen("set-up")} />)}
      <Suspense>
        {open === "set-up" && <SetUp onDone={showCodes} onClose={close} />}
        {open === "codes" && <NewCodes onDone={showCodes} onClose={close} />}
        {open === "off" && <TurnOff onDone={turnedOff} onClose={close} />}
      </Suspense>
    </Card>
  );
}

function Off({ onOpen }: { onOpen: () => void }) {
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">Off: the password alone is enough to log in.</Text>
      <Button variant="default" onClick={onOpen}>
        Set up
      </Button>
    </Stack>
  );
}

function On({ left, onOpen }: { left: number; onOpen: (dialog: "codes" | "off") => void }) {
  return (
    <Stack gap="sm" align="flex-start">
      <Group gap="xs">
        <Badge color="teal" variant="dot" size="sm" tt="none">
          on
        </Badge>
        <Text size="sm" {...(left <= FEW_CODES ? { c: "var(--mantine-color-error)" } : {})}>
          {count(left, "recovery code")} left{left <= FEW_CODES && ": create new ones"}
        </Text>
      </Group>
      <Group gap="xs">
        <Button variant="default" onClick={() => onOpen("codes")}>
          New recovery codes
        </Button>
        <Button variant="subtle" color="red" onClick={() => onOpen("off")}>
          Turn off
        </Button>
      </Group>
    </Stack>
  );
}
