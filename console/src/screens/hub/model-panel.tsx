import { Badge, Button, Code, Drawer, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CopyText } from "../../components/copy-text.tsx";
import { Usd } from "../../components/usd.tsx";
import { searchOf } from "../../components/use-address.ts";
import { count, formatTime } from "../../format/text.ts";
import { type HubRow, rowProviders } from "./hub-rows.ts";
import { Lineage } from "./lineage.tsx";
import { priceLines } from "./model-price.ts";

export function ModelPanel({ row, canTry, onClose }: { row: HubRow; canTry: boolean; onClose: () => void }) {
  const { model, variants } = row;
  const lines = priceLines(model);
  return (
    <Drawer opened onClose={onClose} position="right" size="md" title={model.name}>
      <Stack>
        {model.description && <Text size="sm">{model.description}</Text>}
        <Group gap={6}>
          <Badge variant="default" tt="none">
            {model.type.replaceAll("_", " ")}
          </Badge>
          {model.capabilities.map((name) => (
            <Badge key={name} variant="default" tt="none">
              {name.replaceAll("_", " ")}
            </Badge>
          ))}
        </Group>
        <Group gap={4}>
          <Code>{model.name}</Code>
          <CopyText text={model.name} label="Copy name" />
        </Group>
        <Table variant="vertical" withTableBorder aria-label="Details">
          <Table.Tbody>
            <Fact name={variants.length > 1 ? "Providers" : "Provider"}>{rowProviders(row)}</Fact>
            <Fact name="Context window">{model.contextWindow === null ? "unknown" : count(model.contextWindow, "token")}</Fact>
            <Fact name="Max output">{model.maxOutputTokens === null ? "unknown" : count(model.maxOutputTokens, "token")}</Fact>
            {lines.map(({ name, usd, per }) => (
              <Fact key={name} name={name}>
                <Usd amount={usd} /> / {per}
              </Fact>
            ))}
            {lines.length === 0 && <Fact name="Price">{model.pricing === null ? "not set" : "free"}</Fact>}
            {model.pricing && <Fact name="Price since">{formatTime(model.pricing.effectiveAt)}</Fact>}
          </Table.Tbody>
        </Table>
        {variants.length > 1 && (
          <Text size="sm" c="dimmed">
            This name has {count(variants.length, "deployment")}. The price shown is the lowest; a call is billed at the price of the
            deployment that responds.
          </Text>
        )}
        {model.trained && <Lineage trained={model.trained} />}
        {model.supportedParams.length > 0 && (
          <div>
            <Title order={3} size="h6" mb={4}>
              Supported parameters
            </Title>
            <Text size="sm" c="dimmed">
              {model.supportedParams.join(", ")}
            </Text>
          </div>
        )}
        {canTry && (
          <Button
            component={Link}
            to="/playground"
            search={searchOf({ models: model.name })}
            leftSection={<IconPlayerPlay size={16} aria-hidden />}
          >
            Try in playground
          </Button>
        )}
      </Stack>
    </Drawer>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={140}>{name}</Table.Th>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  );
}
