import { Badge, Button, Group, Text } from "@mantine/core";
import { IconDevices } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, get } from "../../api/client.ts";
import type { List, OpenSession } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure, notifyDone, notifyFailure } from "../../components/failure.tsx";
import { ago, count, formatTime } from "../../format/text.ts";
import { deviceName } from "./device-name.ts";

export const sessionsKey = ["sessions"];
const PATH = "/api/auth/sessions";

/** The user's sessions, each of which can be ended. */
export function Sessions() {
  const [page, setPage] = useState(1);
  const { data, error } = useQuery({
    queryKey: [...sessionsKey, page],
    queryFn: ({ signal }) => get<List<OpenSession>>(PATH, { page, pageSize: 20 }, signal),
  });
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: sessionsKey });
  const ending = useMutation({
    mutationFn: ({ id }: OpenSession) => call("DELETE", `${PATH}/${encodeURIComponent(id)}`),
    onSuccess: async () => {
      notifyDone("Session ended.");
      await refresh();
    },
    onError: notifyFailure,
  });
  const columns: Column<OpenSession>[] = [
    { title: "Device", cell: (session) => <Device session={session} /> },
    { title: "Last used", cell: ({ lastUsedAt }) => <Text size="sm">{ago(lastUsedAt)}</Text> },
    { title: "Logged in", cell: ({ createdAt }) => <Text size="sm">{formatTime(createdAt)}</Text>, wideOnly: true },
    {
      title: "Actions",
      cell: (session) =>
        !session.current && (
          <Button
            size="compact-xs"
            variant="default"
            loading={ending.isPending && ending.variables.id === session.id}
            onClick={() => ending.mutate(session)}
            aria-label={`End the session of ${deviceName(session.userAgent)}, last used ${ago(session.lastUsedAt)}`}
          >
            End
          </Button>
        ),
      isNumber: true,
    },
  ];
  return (
    <Card
      title="Sessions"
      about="Devices that are logged in. Address and device are those of the log-in or the last refresh."
      action={data && data.meta.total > 1 && <EndOthers onDone={refresh} />}
    >
      <Failure error={error} />
      <DataTable
        label="Sessions"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={<Empty icon={IconDevices} title="No sessions" />}
      />
      <Pages meta={data?.meta} unit="session" onPage={setPage} />
    </Card>
  );
}

function Device({ session: { userAgent, address, current } }: { session: OpenSession }) {
  return (
    <div style={{ minWidth: 130 }}>
      <Group gap="xs">
        <Text size="sm" fw={600} title={userAgent ?? undefined} style={{ overflowWrap: "anywhere" }}>
          {deviceName(userAgent)}
        </Text>
        {current && (
          <Badge size="sm" variant="light" tt="none">
            current
          </Badge>
        )}
      </Group>
      <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        {address ?? "unknown address"}
      </Text>
    </div>
  );
}

function EndOthers({ onDone }: { onDone: () => Promise<unknown> }) {
  const [isOpen, setOpen] = useState(false);
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call<{ ended: number }>("DELETE", PATH),
    onSuccess: async ({ ended }) => {
      setOpen(false);
      notifyDone(`${count(ended, "session")} ended.`);
      await onDone();
    },
  });
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Sign out everywhere else
      </Button>
      {isOpen && (
        <Confirm
          title="Sign out everywhere else"
          action="Sign out"
          error={error}
          isBusy={isPending}
          onConfirm={() => mutate()}
          onClose={() => setOpen(false)}
        >
          Ends all sessions except this one, in browsers and of the command line. API keys keep working.
        </Confirm>
      )}
    </>
  );
}
