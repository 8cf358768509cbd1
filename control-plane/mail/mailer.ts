import type { Logger } from "../../common/logger.ts";

/** A plain-text mail. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Sends mail, or reports that it cannot, so that the caller shows the link another way. */
export interface Mailer {
  /** True if a mail server accepted it. */
  send(mail: Mail): Promise<boolean>;
}

export async function createMailer(options: { smtpUrl: string | undefined; from: string; logger: Logger }): Promise<Mailer> {
  const { smtpUrl, from, logger } = options;
  if (smtpUrl === undefined) {
    return {
      async send({ to, subject, text }) {
        // Without a mail server the operator finds the link in the log, as documented.
        logger.info({ to, subject, text }, "SMTP_URL is not set; the mail is logged instead of sent");
        return false;
      },
    };
  }
  // Most control planes start without a mail server, and without the time that this takes.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport(smtpUrl);
  return {
    async send(mail) {
      try {
        await transport.sendMail({ from, ...mail });
        return true;
      } catch (error) {
        logger.error({ to: mail.to, subject: mail.subject, error: String(error) }, "the mail server did not accept a mail");
        return false;
      }
    },
  };
}
