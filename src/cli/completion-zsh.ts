import { inShellQuotes } from '../text.ts'
import { allCommands, type CompletedCommand, type Values } from './completion-tree.ts'

/**
 * The script that completes `program` in zsh: a function for each command, each with one call of
 * `_arguments`.
 */
export function zshCompletion(program: CompletedCommand): string {
  return `#compdef hexline
# Completion of hexline in zsh, after compinit: eval "$(hexline completion zsh)"
${allCommands(program).map(functionOf).join('\n')}
if [[ $funcstack[1] == _hexline ]]; then _hexline "$@"; else compdef _hexline hexline; fi
`
}

function functionOf(command: CompletedCommand): string {
  const { path, options, args, isVariadic, commands } = command
  const optionSpecs = options.flatMap(({ names, description, values, isOptional }) =>
    // `=`: the value stands in the same word or in the next one.
    names.map((name) => {
      const [equals, value] = values === undefined ? ['', ''] : [name.startsWith('--') ? '=' : '', `${isOptional ? '::' : ':'}value:${action(values)}`]
      return inShellQuotes(`*${name}${equals}[${escaped(description)}]${value}`)
    }),
  )
  const argSpecs = args.map((values, i) => inShellQuotes(`${isVariadic && i === args.length - 1 ? '*' : i + 1}:argument:${action(values)}`))
  const name = functionName(path)
  if (commands.length === 0)
    return `${name}() {
  _arguments -s ${[...optionSpecs, ...argSpecs].join(' \\\n    ')}
}`
  return `${name}() {
  local state line curcontext=$curcontext
  typeset -A opt_args
  _arguments -C -s ${optionSpecs.join(' \\\n    ')} \\
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(${commands.map((below) => `\n        ${inShellQuotes(`${below.path.at(-1)}:${below.summary}`)}`).join('')}
      )
      _describe command commands ;;
    argument)
      case $line[1] in
${commands.map((below) => `        ${below.path.at(-1)}) ${functionName(below.path)} ;;`).join('\n')}
      esac ;;
  esac
}`
}

function functionName(path: readonly string[]): string {
  return ['_hexline', ...path].join('_')
}

function action(values: Values): string {
  if (values === 'files') return '_files'
  if (values === 'folders') return '_files -/'
  // A space is an action that offers nothing.
  return values.length === 0 ? ' ' : `(${values.join(' ')})`
}

/** A description in brackets. */
function escaped(text: string): string {
  return text.replaceAll(/[\\[\]]/g, '\\$&')
}
