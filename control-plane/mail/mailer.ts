import { createTransport } from "nodemailer";
import type { Logger } from "../../common/logger.ts";

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Sends mail, or says that it cannot: then the caller shows the link another way. */
export interface Mailer {
  /** True when a mail server took it. */
  send(mail: Mail): Promise<boolean>;
}

export function createMailer(options: { smtpUrl: string | undefined; from: string; logger: Logger }): Mailer {
  const { smtpUrl, from, logger } = options;
  if (smtpUrl === undefined) {
    return {
      async send({ to, subject, text }) {
        // With no mail server the link must be found somewhere: the operator's log, as the documentation says.
        logger.info({ to, subject, text }, "no SMTP_URL is set; the mail is here");
        return false;
      },
    };
  }
  const transport = createTransport(smtpUrl);
  return {
    async send(mail) {
      try {
        await transport.sendMail({ from, ...mail });
        return true;
      } catch (error) {
        logger.error({ to: mail.to, subject: mail.subject, error: String(error) }, "the mail was not sent");
        return false;
      }
    },
  };
}
