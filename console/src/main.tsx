import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./global.css";
import "./components/charts/charts.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createQueryClient } from "./api/queries.ts";
import { createConsoleRouter } from "./router.tsx";
import { cssVariables, theme } from "./theme.ts";

const queryClient = createQueryClient(() => {
  const { pathname, search } = window.location;
  const here = pathname.replace(/^\/ui/, "") + search;
  queryClient.removeQueries({ queryKey: ["me"] });
  void router.navigate({ to: "/login", search: { expired: true, next: here } });
});
const router = createConsoleRouter(queryClient);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
