import { Button, Group, Modal, NumberInput, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { extend } from "../../api/training.ts";
import type { Federation } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";

/** Adds rounds to a federation that has completed or failed; it goes on from its last committed round. */
export function ExtendFederation({ federation: { id } }: { federation: Federation }) {
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [rounds, setRounds] = useState(5);
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => extend(id, rounds),
    onSuccess: async () => {
      setOpen(false);
      await queryClient.invalidateQueries({ queryKey: ["federation", id] });
    },
  });
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Extend
      </Button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="Extend federation">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            mutate();
          }}
        >
          <Stack gap="sm">
            <NumberInput
              label="More rounds"
              description="Training goes on from the last committed round"
              min={1}
              max={100_000}
              allowDecimal={false}
              value={rounds}
              onChange={(value) => setRounds(Math.max(1, Number(value)))}
              data-autofocus
            />
            <Failure error={error} />
            <Group justify="flex-end">
              <Button type="submit" loading={isPending}>
                Extend
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
