import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

/** The brand color, from light to dark. */
const river: MantineColorsTuple = [
  "#e6f7f8",
  "#cfeaee",
  "#a0d5dd",
  "#6dbfcb",
  "#43acbc",
  "#289fb2",
  "#0f8a9e",
  "#0b7285",
  "#075a6b",
  "#034452",
];

/** Replaces Mantine's neutral gray, which does not match the brand color. */
const depth: MantineColorsTuple = [
  "#ccd4da",
  "#b4bec6",
  "#909ca6",
  "#6f7c86",
  "#39444c",
  "#2b343b",
  "#1e252b",
  "#14191d",
  "#101418",
  "#0d1114",
];

export const theme = createTheme({
  primaryColor: "river",
  primaryShade: 7,
  colors: { river, dark: depth },
  autoContrast: true,
  luminanceThreshold: 0.33,
  fontFamily: "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', 'Roboto Mono', monospace",
  headings: { fontWeight: "650" },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
  },
});

/** Colors of dimmed text with a contrast of at least 4.5:1 on every background of the console; Mantine's grays have less. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#57606a",
    "--mantine-color-body": "#ffffff",
    "--ground": "#f5f8f9",
    "--line": "#dde5e8",
    "--mantine-color-placeholder": "#6b747c",
    "--mantine-color-error": "#c22626",
  },
  dark: {
    "--mantine-color-dimmed": "#a3adb6",
    "--mantine-color-body": "#14191d",
    "--ground": "#0d1114",
    "--line": "#2a3238",
    "--mantine-color-placeholder": "#8e99a3",
    "--mantine-color-error": "#ff8787",
  },
});
