import { Modal } from "@mantine/core";
import type { ApiKey } from "../../api/types.ts";
import { BurnDown, hasBudget } from "../../components/budget/burn-down-card.tsx";

/** The burn-down of a key's budget. */
export function KeyBudget({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  if (!hasBudget(apiKey)) return null;
  return (
    <Modal opened onClose={onClose} title={`Budget of ${apiKey.name}`} size="xl" centered>
      <BurnDown record={apiKey} filter={{ usage: { apiKey: apiKey.id }, logs: { apiKey: apiKey.id } }} />
    </Modal>
  );
}
