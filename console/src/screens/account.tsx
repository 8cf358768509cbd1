import { SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../api/queries.ts";
import { Card } from "../components/card.tsx";
import { Page } from "../components/page.tsx";
import { formatTime } from "../format/text.ts";
import { PasswordForm } from "./account/password-form.tsx";
import { Sessions } from "./account/sessions.tsx";
import { TwoFactor } from "./account/two-factor.tsx";

export function Screen() {
  const { data: me } = useQuery(meQuery);
  return (
    <Page title="Account">
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Card title="Profile">
          {me && (
            <Stack gap="xs">
              <Fact name="Name" value={me.user.name} />
              <Fact name="Email" value={me.user.email} />
              <Fact name="Platform role" value={me.user.role} />
              <Fact name="Member since" value={formatTime(me.user.createdAt)} />
            </Stack>
          )}
        </Card>
        <Card title="Change password" about="This logs you out of all other sessions.">
          <PasswordForm />
        </Card>
      </SimpleGrid>
      <TwoFactor />
      <Sessions />
    </Page>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text style={{ overflowWrap: "anywhere" }}>{value}</Text>
    </div>
  );
}
