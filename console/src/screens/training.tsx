import { Button, Tabs } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Card } from "../components/card.tsx";
import { Page } from "../components/page.tsx";
import { useAddress } from "../components/use-address.ts";
import { CompareFederations } from "./training/curves/compare-federations.tsx";
import { FederationList } from "./training/federation-list.tsx";
import { NewFederation } from "./training/new-federation.tsx";
import { NodeList } from "./training/node-list.tsx";

/** Beside the list of federations. */
const TABS = ["compare", "nodes"];

export function Screen() {
  const [address, setAddress] = useAddress();
  const [isOpen, setOpen] = useState(false);
  const begin = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen(true)}>
      Create federation
    </Button>
  );
  return (
    <Page
      title="Training"
      about="Federated training: participants train a shared model in rounds, and their data stays local."
      action={begin}
    >
      <Card>
        <Tabs
          value={TABS.find((tab) => tab === address.tab) ?? "federations"}
          onChange={(tab) => setAddress({ tab: TABS.find((one) => one === tab), page: undefined })}
          keepMounted={false}
        >
          <Tabs.List mb="sm" aria-label="Training">
            <Tabs.Tab value="federations">Federations</Tabs.Tab>
            <Tabs.Tab value="compare">Compare</Tabs.Tab>
            <Tabs.Tab value="nodes">Nodes</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="federations">
            <FederationList action={begin} />
          </Tabs.Panel>
          <Tabs.Panel value="compare">
            <CompareFederations />
          </Tabs.Panel>
          <Tabs.Panel value="nodes">
            <NodeList />
          </Tabs.Panel>
        </Tabs>
      </Card>
      {isOpen && <NewFederation onClose={() => setOpen(false)} />}
    </Page>
  );
}
