import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { type CommandNode, commandTree, everyNode } from "./command-tree.ts";

const SHELLS: Readonly<Record<string, (program: CommandNode) => string>> = { bash, zsh, fish };

export function registerCompletion(program: Command, io: Io): void {
  program
    .command("completion <shell>")
    .description("Print shell completion for bash, zsh or fish: source <(gw completion bash)")
    .action((shell: string) => {
      const write = SHELLS[shell];
      if (!write) throw usageError(`${shell} is not a supported shell.`, `Use one of ${Object.keys(SHELLS).join(", ")}.`);
      io.stdout.write(write(commandTree(program)));
    });
}

const longFlag = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

/** Completions after a command: its subcommands, its options and the global options. */
function wordsAfter(node: CommandNode, root: CommandNode): string[] {
  const options = [...node.options, ...(node === root ? [] : root.options)];
  return [...node.commands.map(({ path }) => path.split(" ").at(-1) ?? ""), ...options.map(({ flags }) => longFlag(flags)), "--help"];
}

/** The current command is the path of words that are commands; options and their values are skipped. */
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

/** A native zsh function, because it can show descriptions. The variable is `here`, because zsh reserves `path`. */
function zsh(root: CommandNode): string {
  const nodes = everyNode(root);
  const known = nodes.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|");
  const described = (word: string, text: string) => shellQuoted(`${word}:${text}`);
  const cases = nodes.map((node) => {
    const commands = node.commands.map(({ path, summary }) => described(path.split(" ").at(-1) ?? "", summary));
    const options = [...node.options, ...(node === root ? [] : root.options)];
    const flags = options.map(({ flags: each, description }) => described(longFlag(each), description));
    return `    "${node.path}")\n      commands=(${commands.join(" ")})\n      options=(${[...flags, described("--help", "show help")].join(" ")}) ;;`;
  });
  return `#compdef gw
# zsh completion for gw: source <(gw completion zsh)
_gw() {
  local here="" next word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${here:+$here }$word"
    case "$next" in
      ${known}) here="$next" ;;
    esac
  done
  case "$here" in
${cases.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then _describe -o option options
  elif (( $#commands )); then _describe command commands
  else _files
  fi
}
(( $+functions[compdef] )) || { autoload -U compinit && compinit }
if [[ "$funcstack[1]" == _gw ]]; then _gw "$@"; else compdef _gw gw; fi
`;
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

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
