import { z } from "zod";
import { ConfigError, type Settings } from "../config.ts";
import { isLoopbackHost } from "../exposed.ts";
import { controlTokenSettings } from "./control-token.ts";
import type { PeerRole } from "./peer.ts";
import { MAKE_CERTS, type PeerTls, readPeerTls, tlsSettings } from "./tls.ts";

/** Host and port. */
export const CONTROL_PLACE = /^(\[[0-9a-f:.]+\]|[^\s:,[\]]+):\d{1,5}$/i;

/** Settings of processes that connect to a control plane. */
export const controlClientSettings = {
  CONTROL_ADDRESS: z
    .string()
    .default("127.0.0.1:4100")
    .transform((text) => text.split(",").map((address) => address.trim()))
    .refine((addresses) => addresses.every((address) => CONTROL_PLACE.test(address)), "must be host:port, or several separated by commas")
    .transform((addresses) => addresses.join(","))
    .describe(
      "Host and port of the control plane, or of several, separated by commas: the next one is used while one cannot be reached. Another machine's needs `TLS_CERT`. `make run` sets it.",
    ),
  ...controlTokenSettings,
  ...tlsSettings,
};

/** The certificate of a process that connects to a control plane. Without one its token must not leave the machine. */
export function readClientTls(settings: Settings<typeof controlClientSettings>, role: PeerRole): PeerTls | undefined {
  const tls = readPeerTls(settings, role);
  const { controlAddress } = settings;
  const remote = controlAddress.split(",").find((address) => !isLoopbackHost(address.replace(/:\d+$/, "")));
  if (tls !== undefined || remote === undefined) return tls;
  throw new ConfigError([
    `CONTROL_ADDRESS: ${remote} is another machine, so TLS_CERT, TLS_KEY and TLS_CA must be set (${MAKE_CERTS}); or reach it through a tunnel, such as ssh -L`,
  ]);
}
