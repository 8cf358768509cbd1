import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { type CommandNode, commandTree, everyNode } from "./command-tree.ts";

const SHELLS: Readonly<Record<string, (program: CommandNode) => string>> = { bash, zsh, fish };

export function registerCompletion(program: Command, io: Io): void {
  program
    .command("completion <shell>")
    .description("Completion for bash, zsh or fish: source <(gw completion bash)")
    .action((shell: string) => {
      const write = SHELLS[shell];
      if (!write) throw usageError(`${shell} is no shell we know.`, `One of ${Object.keys(SHELLS).join(", ")}.`);
      io.stdout.write(write(commandTree(program)));
    });
}

const longFlag = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

/** What may follow: further commands and the command's own options. The program's options may stand anywhere. */
function wordsAfter(node: CommandNode, root: CommandNode): string[] {
  const options = [...node.options, ...(node === root ? [] : root.options)];
  return [...node.commands.map(({ path }) => path.split(" ").at(-1) ?? ""), ...options.map(({ flags }) => longFlag(flags)), "--help"];
}

/** Where we are is every word so far that is a command; options and what they take are passed over. */
function bash(root: CommandNode): string {
  const cases = everyNode(root).map((node) => `    "${node.path}") words="${wordsAfter(node, root).join(" ")}" ;;`);
  const known = everyNode(root)
    .filter(({ path }) => path !== "")
    .map(({ path }) => `"${path}"`)
    .join("|");
  return `# bash completion for gw: source <(gw completion bash)
_gw() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" next word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
      ${known}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gw gw
`;
}

function zsh(root: CommandNode): string {
  return `#compdef gw\n# zsh completion for gw: source <(gw completion zsh)\nautoload -U +X compinit bashcompinit\nwhence compdef >/dev/null || compinit\nbashcompinit\n${bash(root)}`;
}

function fish(root: CommandNode): string {
  const nodes = everyNode(root);
  const known = nodes.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const lines = nodes.flatMap((node) => {
    const here = `-n 'test "$(__gw_path)" = "${node.path}"'`;
    return [
      ...node.commands.map(({ path, summary }) => `complete -c gw ${here} -f -a ${path.split(" ").at(-1)} -d ${quoted(summary)}`),
      ...node.options.map(
        ({ flags, description }) =>
          `complete -c gw ${node === root ? "" : `${here} `}-l ${longFlag(flags).slice(2)}${flags.includes("<") ? " -r" : ""} -d ${quoted(description)}`,
      ),
    ];
  });
  return `# fish completion for gw: gw completion fish | source
function __gw_path
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    if contains -- "$next" ${known.join(" ")}
      set path $next
    end
  end
  echo "$path"
end
${lines.join("\n")}
`;
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
