import { inShellQuotes } from '../text.ts'
import { allCommands, type CompletedCommand, type Values } from './completion-tree.ts'

/**
 * The script that completes `program` in bash. It needs no package, and nothing that bash 3.2 of
 * macOS lacks.
 *
 * It goes through the words before the cursor: they lead to a command, and then are its options,
 * values of these, and arguments, which it counts.
 */
export function bashCompletion(program: CompletedCommand): string {
  const commands = allCommands(program)
  const withValues = commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, values, isOptional }) => (values === undefined ? [] : [{ keys: names.map((name) => key([...path, name])), values, isOptional }])),
  )
  const optional = withValues.flatMap(({ keys, isOptional }) => (isOptional ? keys.map((each) => `${inShellQuotes(`${each} -`)}*`) : []))
  const values = withValues.map((option) => row(option.keys, offer(option.values)))
  const options = commands.map((command) => row([key(command.path)], offer(command.options.flatMap(({ names }) => names))))
  const args = commands.flatMap(({ path, args, isVariadic, commands: below }) =>
    (below.length > 0 ? [below.map(({ path }) => path.at(-1) as string)] : args).map((values, i) => {
      const isRest = isVariadic && i === args.length - 1
      return row([`${key([...path, String(i)])}`], offer(isRest ? [] : values))
    }),
  )
  return `# Completion of hexline in bash: eval "$(hexline completion bash)"
_hexline() {
  local IFS=$' \\t\\n' line=\${COMP_LINE:0:COMP_POINT} command='' option='' position=0 word current last
  # COMP_WORDS has URLs in pieces: bash splits at colons, too.
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  last=$((\${#words[@]} - 1))
  current=\${words[last]}
  for word in "\${words[@]:1:last-1}"; do
    _hexline_without_value "$option $word" && option=''
    if [[ -n $option ]]; then
      option=''
      continue
    fi
    case "$command $word" in
      ${commands
        .slice(1)
        .map(({ path }) => inShellQuotes(key(path)))
        .join(' | ')}) command="$command $word" ;;
      ${withValues.flatMap(({ keys }) => keys.map(inShellQuotes)).join(' | ')}) option="$command $word" ;;
      *' -'*) ;;
      *) position=$((position + 1)) ;;
    esac
  done
  _hexline_without_value "$option $current" && option=''
  if [[ -z $option && $current == --*=* ]]; then
    option="$command \${current%%=*}"
    current=\${current#*=}
  fi
  COMPREPLY=()
  if [[ -n $option ]]; then
    case "$option" in
${values.join('\n')}
    esac
  elif [[ $current == -* ]]; then
    case "$command" in
${options.join('\n')}
    esac
  else
    case "$command $position" in
${args.join('\n')}
    esac
  fi
}
# Whether a word that starts with a hyphen follows an option that may stand without its value.
_hexline_without_value() {
  case "$1" in
    ${optional.join(' | ')}) return 0 ;;
  esac
  return 1
}
_hexline_words() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "\${*:2}" -- "$1"))
}
_hexline_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$2"))
}
complete -F _hexline hexline
`
}

/** A branch of `case`. */
function row(keys: readonly string[], then: string): string {
  return `      ${keys.map(inShellQuotes).join(' | ')}) ${then} ;;`
}

/** What stands before the cursor, as the script has it: each word after a space. */
function key(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join('')
}

function offer(values: Values): string {
  if (values === 'files') return '_hexline_paths -f "$current"'
  if (values === 'folders') return '_hexline_paths -d "$current"'
  return values.length === 0 ? ':' : `_hexline_words "$current" ${inShellQuotes(values.join('\n'))}`
}
