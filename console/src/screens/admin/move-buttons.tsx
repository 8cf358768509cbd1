import { ActionIcon } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { moved } from "./moved.ts";

interface MoveButtonsProps {
  items: readonly string[];
  item: string;
  /** What a screen reader says; the item unless set. */
  label?: string;
  isBusy?: boolean;
  onMove: (items: readonly string[]) => void;
}

/** Moves an item of a list up or down, for keyboards and where dragging is not possible. */
export function MoveButtons({ items, item, label = item, isBusy = false, onMove }: MoveButtonsProps) {
  if (items.length < 2) return null;
  const index = items.indexOf(item);
  return (
    <>
      <ActionIcon
        size="sm"
        variant="default"
        aria-label={`Move ${label} up`}
        disabled={isBusy || index === 0}
        onClick={() => onMove(moved(items, index, index - 1))}
      >
        <IconArrowUp size={14} aria-hidden />
      </ActionIcon>
      <ActionIcon
        size="sm"
        variant="default"
        aria-label={`Move ${label} down`}
        disabled={isBusy || index === items.length - 1}
        onClick={() => onMove(moved(items, index, index + 1))}
      >
        <IconArrowDown size={14} aria-hidden />
      </ActionIcon>
    </>
  );
}
