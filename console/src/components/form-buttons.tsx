import { Button, Group } from "@mantine/core";

interface Props {
  action: string;
  isPending: boolean;
  isDisabled?: boolean;
  onClose: () => void;
}

/** The last line of a form in a dialog: leave it, or send it. It stays in view while a long form is scrolled. */
export function FormButtons({ action, isPending, isDisabled = false, onClose }: Props) {
  return (
    <Group justify="flex-end" className="form-buttons">
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      <Button type="submit" loading={isPending} disabled={isDisabled}>
        {action}
      </Button>
    </Group>
  );
}
