import { Button, Stack } from "@mantine/core";
import type { PointerEvent } from "react";
import { drawnAt, EMPTY_DIGIT, rowOf, SIDE } from "./digit-row.ts";

const CELL_PX = 18;

/** A grid to draw a digit on with a pointer. The same row can be typed in the field beside it. */
export function DigitGrid({ value, onValue }: { value: string; onValue: (row: string) => void }) {
  const row = rowOf(value);
  const draw = (event: PointerEvent<SVGSVGElement>) => {
    if (event.buttons === 0) return;
    const { left, top } = event.currentTarget.getBoundingClientRect();
    onValue(JSON.stringify(drawnAt(row, Math.floor((event.clientX - left) / CELL_PX), Math.floor((event.clientY - top) / CELL_PX))));
  };
  return (
    <Stack gap={6} align="flex-start">
      <svg
        width={SIDE * CELL_PX}
        height={SIDE * CELL_PX}
        role="img"
        aria-label="The digit of the row"
        style={{ touchAction: "none", cursor: "crosshair", border: "1px solid var(--line)" }}
        onPointerDown={draw}
        onPointerMove={draw}
      >
        <rect width="100%" height="100%" fill="var(--mantine-color-body)" />
        {row.map((ink, index) => {
          const [x, y] = [index % SIDE, Math.floor(index / SIDE)];
          return (
            <rect
              key={`${x},${y}`}
              x={x * CELL_PX}
              y={y * CELL_PX}
              width={CELL_PX}
              height={CELL_PX}
              fill="var(--mantine-color-text)"
              fillOpacity={Math.min(1, Math.max(0, ink))}
            />
          );
        })}
      </svg>
      <Button size="compact-xs" variant="default" onClick={() => onValue(JSON.stringify(EMPTY_DIGIT))}>
        Clear
      </Button>
    </Stack>
  );
}
