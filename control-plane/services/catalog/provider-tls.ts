import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { Secrets } from "../../crypto/secrets.ts";
import type { Provider } from "../../domain/records.ts";
import { type UpstreamTls, upstreamTlsProblem } from "../../domain/upstream-tls.ts";

type TlsSecrets = Pick<Secrets, "open" | "seal">;

/** The PEM texts of a provider, for edges. */
export function openTls({ sealedTls }: Pick<Provider, "sealedTls">, secrets: TlsSecrets): UpstreamTls | undefined {
  return sealedTls === undefined ? undefined : (JSON.parse(secrets.open(sealedTls).toString("utf8")) as UpstreamTls);
}

/** The provider's field after a change: absent texts stay as they are, empty ones are removed. Throws for texts that no connection can use. */
export function changedTls(
  provider: Pick<Provider, "sealedTls">,
  { ca, clientCertificate, clientKey }: UpstreamTls,
  secrets: TlsSecrets,
): Pick<Provider, "sealedTls"> {
  const given = defined({ ca, clientCertificate, clientKey });
  // Sealed again, the same texts would be another text.
  if (Object.keys(given).length === 0) return defined({ sealedTls: provider.sealedTls });
  const merged = Object.entries({ ...openTls(provider, secrets), ...given }).filter(([, text]) => text !== "");
  const tls: UpstreamTls = Object.fromEntries(merged);
  const problem = upstreamTlsProblem(tls);
  if (problem) {
    const { field, message } = problem;
    throw new AppError("VALIDATION_ERROR", `The TLS setting ${field} ${message}.`, { details: [{ path: `body.${field}`, message }] });
  }
  return merged.length === 0 ? {} : { sealedTls: secrets.seal(Buffer.from(JSON.stringify(tls))) };
}
