import { Autocomplete, Button, SimpleGrid, Skeleton, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { call } from "../api/client.ts";
import { meQuery } from "../api/queries.ts";
import type { Organization } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { Failure, notifyDone } from "../components/failure.tsx";
import { budgetProblem } from "../components/limit-fields.tsx";
import { Page } from "../components/page.tsx";
import { nanoNumber, readUsd, usdOf } from "../format/money.ts";
import { count } from "../format/text.ts";
import { OrganizationList } from "./organization/organization-list.tsx";
import { Storage } from "./organization/storage.tsx";
import { Webhooks } from "./organization/webhooks.tsx";

const Alerts = lazy(async () => ({ default: (await import("./organization/alerts.tsx")).Alerts }));
const ContentSetting = lazy(async () => ({ default: (await import("./organization/content-setting.tsx")).ContentSetting }));
const SemanticCache = lazy(async () => ({ default: (await import("./organization/semantic-cache.tsx")).SemanticCache }));

export function Screen() {
  const { data: me } = useQuery(meQuery);
  const organization = me?.organization;
  return (
    <Page
      title="Organization"
      about={organization && `${organization.name}: ${count(organization.memberCount, "member")}, ${count(organization.teamCount, "team")}`}
    >
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Card title="Settings">
          {organization ? <Settings organization={organization} key={organization.id} /> : <Skeleton height={220} />}
        </Card>
        <Card title="Your organizations" about="All screens show data of the active organization.">
          <OrganizationList />
        </Card>
        <Storage />
        <Card title="Prompts and answers" about="For debugging calls in the log. Off unless you turn it on; a key can differ.">
          <Suspense fallback={<Skeleton height={120} />}>
            {organization ? <ContentSetting organization={organization} key={organization.id} /> : <Skeleton height={120} />}
          </Suspense>
        </Card>
        <Card title="Semantic cache" about="Answers a text with the cached answer to a similar one.">
          <Suspense fallback={<Skeleton height={120} />}>
            {organization ? <SemanticCache organization={organization} key={organization.id} /> : <Skeleton height={120} />}
          </Suspense>
        </Card>
      </SimpleGrid>
      <Suspense fallback={<Skeleton height={120} />}>
        <Alerts />
      </Suspense>
      <Webhooks />
    </Page>
  );
}

interface SettingValues {
  name: string;
  timezone: string;
  thresholdUsd: string;
}

function Settings({ organization }: { organization: Organization }) {
  const queryClient = useQueryClient();
  const form = useForm<SettingValues>({
    initialValues: {
      name: organization.name,
      timezone: organization.timezone,
      thresholdUsd: organization.lowBalanceThreshold === null ? "" : usdOf(organization.lowBalanceThreshold),
    },
    validate: { thresholdUsd: budgetProblem },
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ name, timezone, thresholdUsd }: SettingValues) => {
      const threshold = readUsd(thresholdUsd);
      const lowBalanceThreshold = threshold === undefined ? null : nanoNumber(threshold);
      return call("PUT", "/api/gw/organizations", { body: { id: organization.id, name, timezone, lowBalanceThreshold } });
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      notifyDone("Saved.");
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack>
        <Failure error={error} />
        <TextInput label="Name" required maxLength={100} {...form.getInputProps("name")} />
        <Autocomplete
          label="Time zone"
          description="Defines the days in charts and exports."
          data={Intl.supportedValuesOf("timeZone")}
          limit={20}
          {...form.getInputProps("timezone")}
        />
        <TextInput
          label="Low balance alert"
          description="Email and webhook when the balance falls below this amount. Leave empty for no alert."
          leftSection="$"
          inputMode="decimal"
          placeholder="No alert"
          {...form.getInputProps("thresholdUsd")}
        />
        <Button type="submit" loading={isPending} style={{ alignSelf: "flex-start" }}>
          Save
        </Button>
      </Stack>
    </form>
  );
}
