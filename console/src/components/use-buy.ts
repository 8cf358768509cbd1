import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "../api/client.ts";
import type { Purchase } from "../api/types.ts";
import { formatUsd } from "../format/money.ts";
import { notifyDone, notifyFailure } from "./failure.tsx";

interface Order {
  readonly amountUsd: string;
  readonly method: string;
}

/** Buys credits. For a card payment, the browser goes to the payment page and returns to /ui/credits. */
export function useBuy(): { buy: (order: Order) => void; isBuying: boolean } {
  const queryClient = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (order: Order) => post<{ purchase: Purchase }>("/api/credits/purchase", order),
    onSuccess: async ({ purchase }) => {
      if (purchase.checkoutUrl !== null) return window.location.assign(purchase.checkoutUrl);
      notifyDone(`Added ${formatUsd(purchase.amountUsd)} in credits.`);
      await Promise.all(["quota", "purchases", "ledger", "me", "teams"].map((name) => queryClient.invalidateQueries({ queryKey: [name] })));
    },
    onError: notifyFailure,
  });
  return { buy: mutate, isBuying: isPending };
}
