import { openTestStore } from "../stores/test-store.ts";
import { feedContract } from "./feed-contract.ts";

feedContract("the embedded store", async () => {
  const { store, close } = openTestStore();
  return { left: store, right: store, close };
});
