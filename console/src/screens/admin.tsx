import { Tabs } from "@mantine/core";
import { type ComponentType, useEffect, useRef } from "react";
import { Card } from "../components/card.tsx";
import { Page } from "../components/page.tsx";
import { useAddress } from "../components/use-address.ts";
import { Audit } from "./admin/audit.tsx";
import { Cache } from "./admin/cache.tsx";
import { Guardrails } from "./admin/guardrails.tsx";
import { Models } from "./admin/models.tsx";
import { Organizations } from "./admin/organizations.tsx";
import { Providers } from "./admin/providers.tsx";
import { Routing } from "./admin/routing.tsx";
import { System } from "./admin/system.tsx";
import { Users } from "./admin/users.tsx";

const TABS: Readonly<Record<string, { label: string; Panel: ComponentType }>> = {
  users: { label: "Users", Panel: Users },
  organizations: { label: "Organizations", Panel: Organizations },
  models: { label: "Models", Panel: Models },
  providers: { label: "Providers", Panel: Providers },
  routing: { label: "Routing", Panel: Routing },
  guardrails: { label: "Guardrails", Panel: Guardrails },
  cache: { label: "Cache", Panel: Cache },
  audit: { label: "Audit log", Panel: Audit },
  system: { label: "System", Panel: System },
};

export function Screen() {
  const [address, setAddress] = useAddress();
  const strip = useRef<HTMLDivElement>(null);
  const tab = Object.hasOwn(TABS, String(address.tab)) ? String(address.tab) : "users";
  // On a narrow window the tabs overflow, so the open tab is scrolled into view.
  useEffect(() => {
    strip.current?.querySelector(`[data-tab="${tab}"]`)?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [tab]);
  return (
    <Page title="Admin" about="Users, models, routing and system status of the whole platform.">
      <Card>
        <Tabs
          value={tab}
          onChange={(next) => setAddress({ tab: next ?? undefined, page: undefined, search: undefined, group: undefined })}
          keepMounted={false}
        >
          <Tabs.List mb="md" aria-label="Administration" className="scrolling-tabs" ref={strip}>
            {Object.entries(TABS).map(([name, { label }]) => (
              <Tabs.Tab key={name} value={name} data-tab={name}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {Object.entries(TABS).map(([name, { Panel }]) => (
            <Tabs.Panel key={name} value={name}>
              <Panel />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Card>
    </Page>
  );
}
