import { Stack, Table, Text, Title } from "@mantine/core";
import type { Model } from "../../api/types.ts";
import { AccuracyCurve } from "../../components/accuracy-curve.tsx";

/** Labels of the lineage fields of a federation. */
const NOTES: Readonly<Record<string, string>> = { federationId: "Federation", of: "Total rounds", recordHash: "Round record hash" };

/** Lineage of a trained model: version, participants, accuracy and other recorded fields. */
export function Lineage({ trained }: { trained: NonNullable<Model["trained"]> }) {
  const { task, version, round, participants, accuracy, blob, lineage } = trained;
  const { curve, round: _round, participants: _participants, accuracy: _accuracy, ...notes } = lineage;
  const evaluated = Array.isArray(curve) ? curve.filter((value) => typeof value === "number") : [];
  const facts: [string, string | null][] = [
    ["Task", task],
    ["Version", String(version)],
    ["Round", round === null ? null : String(round)],
    ["Participants", participants === null ? null : String(participants)],
    ["Accuracy", accuracy === null ? null : `${(100 * accuracy).toFixed(1)}%`],
    ["Parameters, SHA-256", blob],
    ...Object.entries(notes).map(([name, value]): [string, string] => [
      NOTES[name] ?? name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ];
  return (
    <Stack gap="xs">
      <Title order={3} size="h6">
        Trained here
      </Title>
      <Table variant="vertical" withTableBorder aria-label="Lineage">
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={140}>{name}</Table.Th>
              <Table.Td>
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {value ?? "unknown"}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {evaluated.length > 1 && <AccuracyCurve rounds={evaluated.map((value, index) => ({ round: index + 1, accuracy: value }))} />}
    </Stack>
  );
}
