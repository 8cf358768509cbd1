import { AuditLog } from "../audit/audit-log.tsx";

/** The audit log of the whole platform. */
export function Audit() {
  return <AuditLog path="/api/admin/audit" />;
}
