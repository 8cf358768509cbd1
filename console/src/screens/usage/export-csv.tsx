import { Button, Group, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { getText, type Query } from "../../api/client.ts";
import { Failure } from "../../components/failure.tsx";
import { saveText } from "../../components/save-text.ts";
import { Usd } from "../../components/usd.tsx";
import { nanoOf, usdOfNano } from "../../format/money.ts";
import { count } from "../../format/text.ts";
import { csvTotal } from "./csv-total.ts";

/** Exports the calls of the chart as CSV and compares the totals of file and chart. */
export function ExportCsv({ query, chartUsd, fileName }: { query: Query; chartUsd: string | undefined; fileName: string }) {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async () => {
      const csv = await getText("/api/gw/logs", { ...query, format: "csv" });
      saveText(csv, { fileName, type: "text/csv" });
      return csvTotal(csv);
    },
  });
  return (
    <Group gap="sm">
      <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />} loading={isPending} onClick={() => mutate()}>
        Export CSV
      </Button>
      {data && (
        <Text size="sm" role="status">
          The file has {count(data.rows, "call")} for <Usd amount={usdOfNano(data.costNano)} fw={600} />
          {chartUsd !== undefined &&
            (nanoOf(chartUsd) === data.costNano ? ", same as the chart." : "; new calls arrived after the chart was loaded.")}
        </Text>
      )}
      <Failure error={error} />
    </Group>
  );
}
