/** An iterator whose next item can be read before it is taken. */
export interface Peekable<Item> {
  peek(): Promise<Item | undefined>;
  take(): Promise<Item | undefined>;
  close(): Promise<void>;
}

export function peekable<Item>(items: AsyncGenerator<Item>): Peekable<Item> {
  let next: Promise<Item | undefined> | undefined;
  const peek = () => {
    next ??= items.next().then(({ done, value }) => (done ? undefined : value));
    return next;
  };
  return {
    peek,
    async take() {
      const item = await peek();
      next = undefined;
      return item;
    },
    async close() {
      await items.return(undefined);
    },
  };
}
