import { Group, Text } from "@mantine/core";
import { IconGripVertical } from "@tabler/icons-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { MoveButtons } from "./move-buttons.tsx";
import { moved } from "./moved.ts";
import "./reorder-list.css";

interface ReorderListProps {
  label: string;
  items: readonly string[];
  /** What a screen reader says of an item; the item unless set. */
  nameOf?: (item: string) => string;
  /** Items cannot be moved. */
  isFixed?: boolean;
  onMove: (items: readonly string[]) => void;
  children: (item: string, index: number) => ReactNode;
}

/** A list whose items are put in order by dragging, with a mouse, a pen or a finger, or with the buttons of each item. */
export function ReorderList({ label, items, nameOf = (item) => item, isFixed = false, onMove, children }: ReorderListProps) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<string | undefined>();
  // On the window, because a row that changes its place loses the pointer.
  useEffect(() => {
    if (dragged === undefined) return;
    const drag = ({ clientY }: PointerEvent) => {
      const from = items.indexOf(dragged);
      const rows = [...(list.current?.children ?? [])].map((row) => row.getBoundingClientRect());
      const to = rows.findIndex(({ top, bottom }) => clientY >= top && clientY < bottom);
      if (to >= 0 && from >= 0 && to !== from) onMove(moved(items, from, to));
    };
    const drop = () => setDragged(undefined);
    window.addEventListener("pointermove", drag);
    window.addEventListener("pointerup", drop);
    window.addEventListener("pointercancel", drop);
    return () => {
      window.removeEventListener("pointermove", drag);
      window.removeEventListener("pointerup", drop);
      window.removeEventListener("pointercancel", drop);
    };
  }, [dragged, items, onMove]);
  return (
    <ol ref={list} aria-label={label} className="reorder-list">
      {items.map((item, index) => (
        <li key={item} data-dragged={dragged === item || undefined}>
          <Group gap="xs" wrap="nowrap" align="center">
            {!isFixed && items.length > 1 ? (
              <Text
                component="span"
                c="dimmed"
                className="reorder-handle"
                data-handle={item}
                aria-hidden
                onPointerDown={() => setDragged(item)}
              >
                <IconGripVertical size={16} />
              </Text>
            ) : null}
            <div style={{ flex: 1, minWidth: 0 }}>{children(item, index)}</div>
            {!isFixed && <MoveButtons items={items} item={item} label={nameOf(item)} onMove={onMove} />}
          </Group>
        </li>
      ))}
    </ol>
  );
}
