import { Argument, Command } from 'commander'
import { bashCompletion } from './completion-bash.ts'
import { fishCompletion } from './completion-fish.ts'
import { type CompletedCommand, completionTree } from './completion-tree.ts'
import { zshCompletion } from './completion-zsh.ts'
import type { Io } from './output/io.ts'
import { printText } from './output/print.ts'

const scripts: Readonly<Record<string, (program: CompletedCommand) => string>> = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

/** `hexline completion`: a script that completes commands, options and their values in a shell. */
export function completionCommand(io: Io): Command {
  return new Command('completion')
    .summary('completion for bash, zsh or fish')
    .description('Prints a script with which a shell completes commands, options and their values. It starts nothing while you type.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      `
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  hexline completion bash > ~/.local/share/bash-completion/completions/hexline
  hexline completion fish > ~/.config/fish/completions/hexline.fish
  hexline completion zsh > "\${fpath[1]}/_hexline"`,
    )
    .action(async (shell: string, _flags: object, command: Command) => {
      const script = scripts[shell] as (program: CompletedCommand) => string
      await printText(io.stdout, script(completionTree(command.parent as Command)))
    })
}
