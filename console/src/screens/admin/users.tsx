import { Button, Group, Select, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconPlus, IconUsers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { usersQuery } from "../../api/admin.ts";
import { meQuery } from "../../api/queries.ts";
import type { User } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { TypedConfirm } from "../../components/typed-confirm.tsx";
import { useAddress } from "../../components/use-address.ts";
import { ago } from "../../format/text.ts";
import { useAdminChange } from "./use-admin-change.ts";
import { InviteUser } from "./users/invite-user.tsx";
import { ResetTotp } from "./users/reset-totp.tsx";
import { SendReset } from "./users/send-reset.tsx";
import { UserAccess } from "./users/user-access.tsx";

export function Users() {
  const [address, setAddress] = useAddress();
  const search = address.search === undefined ? undefined : String(address.search);
  const { data: me } = useQuery(meQuery);
  const { data, error } = useQuery(usersQuery({ search, page: Number(address.page ?? 1), pageSize: 20 }));
  const [isInviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<User | undefined>();
  const changing = useAdminChange();
  const removing = useAdminChange(() => setLeaving(undefined));
  const find = useDebouncedCallback((text: string) => setAddress({ search: text, page: undefined }), 250);
  const isMe = ({ id }: User) => id === me?.user.id;
  const columns: Column<User>[] = [
    {
      title: "User",
      cell: ({ name, email }) => (
        <div style={{ minWidth: 130 }}>
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {name || email}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {email}
          </Text>
        </div>
      ),
    },
    {
      title: "Role",
      cell: (user) => (
        <Select
          aria-label={`Role of ${user.email}`}
          size="xs"
          w={96}
          data={["user", "admin"]}
          value={user.role}
          disabled={isMe(user)}
          allowDeselect={false}
          onChange={(role) =>
            role && changing.mutate({ method: "PATCH", path: `users/${user.id}`, body: { role }, done: `${user.email} is now ${role}.` })
          }
        />
      ),
    },
    { title: "Status", cell: ({ status }) => <StateBadge state={status} /> },
    { title: "Last login", cell: ({ lastLoginAt }) => <Text size="sm">{lastLoginAt ? ago(lastLoginAt) : "never"}</Text>, wideOnly: true },
    { title: "Created", cell: ({ createdAt }) => <Text size="sm">{ago(createdAt)}</Text>, wideOnly: true },
    {
      title: "Actions",
      cell: (user) => (
        <Group gap="xs" justify="flex-end">
          {user.totpEnabled && <ResetTotp user={user} />}
          <SendReset user={user} />
          {!isMe(user) && <UserAccess user={user} />}
          {!isMe(user) && (
            <Button size="compact-xs" variant="default" onClick={() => setLeaving(user)} aria-label={`Delete ${user.email}`}>
              Delete
            </Button>
          )}
        </Group>
      ),
      isNumber: true,
    },
  ];
  return (
    <>
      <Failure error={error ?? changing.error} />
      <Group justify="space-between" mb="sm">
        <TextInput
          aria-label="Search users"
          placeholder="Search by name or email"
          defaultValue={search ?? ""}
          onChange={(event) => find(event.currentTarget.value)}
          w={320}
          maw="100%"
        />
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
          Invite user
        </Button>
      </Group>
      <DataTable
        label="Users"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => String(id)}
        empty={<Empty icon={IconUsers} title="No users found" />}
      />
      <Pages meta={data?.meta} unit="user" onPage={(page) => setAddress({ page })} />
      {isInviting && <InviteUser onClose={() => setInviting(false)} />}
      {leaving && (
        <TypedConfirm
          title="Delete user"
          word={leaving.email}
          action="Delete"
          error={removing.error}
          isBusy={removing.isPending}
          onConfirm={() => removing.mutate({ method: "DELETE", path: `users/${leaving.id}`, done: `${leaving.email} deleted.` })}
          onClose={() => setLeaving(undefined)}
        >
          Revokes all sessions and API keys of {leaving.email} immediately. Their calls stay in the logs and the ledger.
        </TypedConfirm>
      )}
    </>
  );
}
