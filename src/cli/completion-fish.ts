import { allCommands, type CompletedCommand, type Values } from './completion-tree.ts'

/** The script that completes `program` in fish. */
export function fishCompletion(program: CompletedCommand): string {
  const commands = allCommands(program)
  const paths = commands.slice(1).map(({ path }) => path.join(' '))
  const withValues = (optional: boolean) =>
    commands
      .flatMap(({ path, options }) =>
        options.flatMap(({ names, values, isOptional }) =>
          values === undefined || isOptional !== optional ? [] : names.map((name) => quoted([...path, name].join(' '))),
        ),
      )
      .join(' ')
  return `# Completion of hexline in fish: hexline completion fish | source
function __hexline_is_at -a command position
    set -l path
    set -l seen 0
    set -l value none
    for word in (commandline -opc)[2..-1]
        set -l next (string join ' ' -- $path $word)
        if test $value = required; or begin
                test $value = optional; and not string match -q -- '-*' $word
            end
            set value none
            continue
        end
        set value none
        if contains -- $next ${paths.map(quoted).join(' ')}
            set path $next
        else if contains -- $next ${withValues(false)}
            set value required
        else if contains -- $next ${withValues(true)}
            set value optional
        else if not string match -q -- '-*' $word
            set seen (math $seen + 1)
        end
    end
    test "$path" = "$command"; and test -z "$position" -o "$position" = $seen
end
complete -c hexline -f
${commands.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, options, args, commands }: CompletedCommand): string[] {
  const command = path.join(' ')
  const start = (at: string) => `complete -c hexline -n ${quoted(`__hexline_is_at ${at}`)}`
  return [
    ...commands.map((below) => `${start(quoted(command))} -a ${quoted(below.path.at(-1) as string)} -d ${quoted(below.summary)}`),
    ...args.flatMap((values, i) => (values.length === 0 ? [] : [`${start(`${quoted(command)} ${i}`)}${offer(values)}`])),
    ...options.map(({ names, description, values, isOptional }) => {
      const flags = names.map((name) => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`)).join('')
      // Without these, fish takes the next word as an option, and a value only after `=`.
      const required = isOptional ? '' : values === 'files' ? ' -r' : ' -x'
      return `${start(quoted(command))}${flags} -d ${quoted(description)}${values === undefined ? '' : `${required}${offer(values)}`}`
    }),
  ]
}

function offer(values: Values): string {
  if (values === 'files') return ' -F'
  if (values === 'folders') return " -a '(__fish_complete_directories)'"
  return values.length === 0 ? '' : ` -a ${quoted(values.join(' '))}`
}

/** In single quotes, in which fish knows two escapes. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
