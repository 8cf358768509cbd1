import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  type IdentityServiceService,
  SendVerificationMailResponse,
  VerifyEmailResponse,
} from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { User } from "../../domain/records.ts";
import type { Transaction } from "../../stores/store.ts";
import { verifyAddress, verifyScopes } from "../../writes/accounts.ts";
import { requireActor } from "../actor.ts";
import { limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { userWithBudget } from "../messages.ts";
import { write } from "../write.ts";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;

const LINK_LIFE_MS = 48 * 3_600_000;
const TOKEN_BYTES = 32;

export function emailVerificationHandlers(deps: ControlDeps): Pick<Handlers, "verifyEmail" | "sendVerificationMail"> {
  return { verifyEmail: verifyEmail(deps), sendVerificationMail: sendAgain(deps) };
}

/** Whether addresses are verified: without a mail server there is no way to do that, and the sign-up grant does not wait for it. */
export function verifiesAddresses({ config }: Pick<ControlDeps, "config">): boolean {
  return config.mail.smtpUrl !== undefined;
}

/** Stores a new verification link of the user, and returns its token. Links that were sent before stay valid. */
export async function putVerification(tx: Transaction, deps: ControlDeps, user: User): Promise<string> {
  const token = deps.random.bytes(TOKEN_BYTES).toString("base64url");
  const expiresAt = deps.clock.now() + LINK_LIFE_MS;
  await tx.put("emailVerifications", { id: deps.secrets.tokenHash(token), userId: user.id, expiresAt });
  return token;
}

export async function sendVerificationMail(deps: ControlDeps, { email, token }: { email: string; token: string }): Promise<void> {
  const link = `${deps.config.publicUrl}/ui/verify-email?token=${token}`;
  await deps.mailer.send({
    to: email,
    subject: "Verify your e-mail address for Tributary",
    text: `An account of Tributary was created with the address ${email}. To verify the address, log in to that account and open this link within 48 hours:\n\n${link}\n\nIf you did not create the account, ignore this mail.`,
  });
}

/**
 * Only the signed-in user of the account can verify its address. Otherwise a stranger could sign up with the address of a person who then
 * opens the link by mistake, and the stranger would have an account with a verified address of another person.
 */
const verifyEmail =
  (deps: ControlDeps): Handlers["verifyEmail"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(
      deps,
      context,
      { actor, codec: VerifyEmailResponse, scopes: verifyScopes(deps.store, actor.user) },
      async ({ tx, now, audit }) => {
        const found = await tx.get("emailVerifications", deps.secrets.tokenHash(request.token));
        const user = await tx.get("users", actor.user.id);
        if (!found || found.expiresAt <= now || !user) {
          throw new AppError("VALIDATION_ERROR", "The verification link is not valid, was used already or has expired. Request a new one.");
        }
        if (found.userId !== user.id) {
          throw new AppError("FORBIDDEN", "The verification link is for another account. Log in to the account that it was sent to.");
        }
        await tx.remove("emailVerifications", found.id);
        const verified = await verifyAddress(tx, deps, user);
        await audit({ action: "user.email.verify", target: String(user.id) });
        return { user: await userWithBudget(tx, verified, now) };
      },
    );
  };

const sendAgain =
  (deps: ControlDeps): Handlers["sendVerificationMail"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    const { email, emailVerifiedAt } = actor.user;
    if (emailVerifiedAt !== undefined) throw new AppError("VALIDATION_ERROR", "The e-mail address is verified already.");
    if (!verifiesAddresses(deps)) {
      throw new AppError("VALIDATION_ERROR", "Addresses are not verified here, because no mail server is configured (SMTP_URL).");
    }
    limitByAddress(deps, context, "verificationMail");
    let token: string | undefined;
    const response = await write(
      deps,
      context,
      { actor, codec: SendVerificationMailResponse, scopes: "identity" },
      async ({ tx, audit }) => {
        token = await putVerification(tx, deps, actor.user);
        await audit({ action: "user.email.verify-request", target: String(actor.user.id) });
        return {};
      },
    );
    // Not for a replayed request, which stored no token.
    if (token !== undefined) void sendVerificationMail(deps, { email, token });
    return response;
  };
