import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../api/queries.ts";
import { Card } from "../components/card.tsx";
import { Page } from "../components/page.tsx";
import { AuditLog } from "./audit/audit-log.tsx";

/** The audit log of the active organization, for its owners. */
export function Screen() {
  const { data: me } = useQuery(meQuery);
  return (
    <Page title="Audit log" about={`Who changed or read what${me?.organization ? ` in ${me.organization.name}` : ""}. For owners.`}>
      <Card>
        <AuditLog path="/api/gw/organizations/audit" />
      </Card>
    </Page>
  );
}
