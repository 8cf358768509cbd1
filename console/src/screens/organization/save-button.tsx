import { Button, Text } from "@mantine/core";

interface Props {
  /** Members see settings of their organization and cannot change them. */
  isReader: boolean;
  isPending: boolean;
}

/** The last line of a setting of the organization: saves it, or says who can. */
export function SaveButton({ isReader, isPending }: Props) {
  if (isReader) return <Text size="sm">Only owners and admins can change this.</Text>;
  return (
    <Button type="submit" loading={isPending} style={{ alignSelf: "flex-start" }}>
      Save
    </Button>
  );
}
