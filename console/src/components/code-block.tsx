import { Box } from "@mantine/core";
import { CopyText } from "./copy-text.tsx";

/** Code with a copy button. Long lines wrap, so that they are readable on a phone. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <Box pos="relative">
      <pre className="code" style={{ paddingRight: 48 }}>
        {code}
      </pre>
      <Box pos="absolute" top={6} right={6}>
        <CopyText text={code} label={label} />
      </Box>
    </Box>
  );
}
