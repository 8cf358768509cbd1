import { CliError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { EXIT } from "../../exit-codes.ts";
import { askModel, type Message, type Turn } from "./chat-turn.ts";

/** Runs a conversation on a terminal; each request holds all messages so far. It ends with /exit, Ctrl-D or Ctrl-C. */
export async function converse(context: Context, turn: Turn): Promise<void> {
  const { io, print } = context;
  print.note(`${turn.model} at ${context.settings.apiUrl.value}. Type /new to start over, /exit to quit.`);
  let messages: readonly Message[] = turn.messages;
  for (;;) {
    const text = await nextLine(context);
    if (text === undefined || text === "/exit" || io.signal.aborted) return;
    if (text === "/new") {
      messages = turn.messages;
      print.note("Started a new conversation.");
      continue;
    }
    const asked: readonly Message[] = [...messages, { role: "user", content: text }];
    const content = await askModel(context, { ...turn, messages: asked });
    messages = [...asked, { role: "assistant", content }];
  }
}

async function nextLine({ io }: Context): Promise<string | undefined> {
  try {
    return (await io.prompts.ask("you")).trim();
  } catch (error) {
    if (error instanceof CliError && error.exit === EXIT.canceled) return undefined;
    throw error;
  }
}
