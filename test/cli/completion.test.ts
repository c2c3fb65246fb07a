import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command, Option } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { methodNames } from '../../src/eth/methods.ts'
import { hexline } from '../support/command.ts'
import { nightly } from '../support/runs.ts'

/* What the shells themselves offer, compared with what commander accepts. */

let folder: string
const script = (shell: string) => join(folder, `completion.${shell}`)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-completion-'))
  await mkdir(join(folder, 'here', 'mainnet'), { recursive: true })
  await writeFile(join(folder, 'here', 'main.ndjson'), '')
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await hexline(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    await writeFile(script(shell), stdout)
  }
})
afterAll(() => rm(folder, { recursive: true }))

/** What a shell offers at the end of each line. */
type Offers = (lines: readonly string[]) => Promise<string[][]>

async function answersOf(shell: string, args: readonly string[], lines: readonly string[]): Promise<string[][]> {
  // Nothing of the user's own.
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
  const child = spawn(shell, [...args, ...lines], { cwd: join(folder, 'here'), env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(stderr).toBe('')
  const answers = stdout.split('\0').slice(0, -1)
  return answers.map((answer) => answer.split('\n').filter((word) => word !== ''))
}

const inBash: Offers = (lines) => {
  const ask = `source "$1"
IFS=: # a user's own
for line in "\${@:2}"; do
  COMP_LINE=$line COMP_POINT=\${#line} COMPREPLY=()
  _hexline 2>/dev/null
  printf '%s\\n' "\${COMPREPLY[@]}"
  printf '\\0'
done`
  return answersOf('bash', ['--norc', '-c', ask, 'bash', script('bash')], lines)
}

const inFish: Offers = async (lines) => {
  const ask = `source $argv[1]
for line in $argv[2..-1]
  complete -C $line | string replace -r '\\t.*' ''
  printf '\\0'
end`
  return answersOf('fish', ['--no-config', '-c', ask, script('fish')], lines)
}

const program = await createProgram(
  '0.0.0',
  { tell() {}, warn() {}, fail() {}, explain: String },
  { args: [], env: {}, stdout: process.stdout, stderr: process.stderr },
  () => {},
)

function commandsOf(command: Command, path: readonly string[] = []): { path: readonly string[]; command: Command }[] {
  return [{ path, command }, ...command.commands.flatMap((below) => commandsOf(below, [...path, below.name()]))]
}

/** Lines of a shell, each with what it should offer. */
function questions(): (readonly [string, readonly string[]])[] {
  return commandsOf(program).flatMap(({ path, command }) => {
    const line = ['hexline', ...path, ''].join(' ')
    const options: readonly Option[] = command.createHelp().visibleOptions(command)
    return [
      [`${line}--`, options.map(({ long }) => long as string)] as const,
      ...(command.commands.length === 0 ? [] : [[line, [...command.commands.map((below) => below.name()), 'help']] as const]),
      ...options.flatMap(({ long, argChoices = [] }) =>
        argChoices.flatMap((choice) => [
          [`${line}${long} `, argChoices] as const,
          [`${line}${long}=${choice}`, argChoices.filter((other) => other.startsWith(choice))] as const,
        ]),
      ),
    ]
  })
}

const found = (shell: string) => (process.env.PATH ?? '').split(':').some((path) => existsSync(join(path, shell)))

describe.each([['bash', inBash] as const, ...nightly(['fish', inFish] as const)])('in %s', (shell, offers) => {
  const here = found(shell)

  it.skipIf(!here)(`offers every command, option and choice that commander has${here ? '' : ` (SKIPPED: there is no ${shell} in PATH)`}`, async () => {
    const asked = questions()
    expect(asked.length).toBeGreaterThan(40)
    const answers = await offers(asked.map(([line]) => line))
    for (const [i, [line, expected]] of asked.entries()) {
      // fish repeats the option before the value.
      const answer = (answers[i] as string[]).map((word) => word.replace(/^--[\w-]+=/, ''))
      expect({ line, answer: answer.sort() }).toEqual({ line, answer: [...expected].sort() })
    }
  })

  it.skipIf(!here).each([
    ['methods', 'hexline call eth_getBl', methodNames.filter((name) => name.startsWith('eth_getBl')).sort()],
    ['no more of them once there is one', 'hexline call eth_getBalance e', []],
    ['the same after an option whose value looks like a command', 'hexline call --rpc blocks eth_getBala', ['eth_getBalance']],
    ['the same after a URL, which bash splits', 'hexline call --rpc http://127.0.0.1:8545/a eth_getBala', ['eth_getBalance']],
    ['options after one whose value is left out', 'hexline verify mainnet --against --sam', ['--sample']],
    ['options after one whose value is left out, further on', 'hexline jobs --redis --queue a --ret', ['--retry']],
    ['folders after one that has its value', 'hexline verify --against http://127.0.0.1:8545/a ma', ['mainnet']],
    ['commands below a command whose names are elsewhere, too', 'hexline nft tok', ['tokens']],
    ['folders', 'hexline verify ma', ['mainnet']],
    ['files', 'hexline blocks --out main.', ['main.ndjson']],
    ['nothing for a number', 'hexline blocks --from ', []],
    ['commands for help', 'hexline help ver', ['verify']],
  ])('offers %s', async (_what, line, expected) => {
    const [answer] = await offers([line])
    expect(answer?.map((word) => word.replace(/\/$/, '')).sort()).toEqual(expected)
  })
})

describe('in zsh', () => {
  it('has a function for each command, with its options and the commands below it', async () => {
    const { stdout } = await hexline(['completion', 'zsh'])
    for (const { path, command } of commandsOf(program)) {
      const name = ['_hexline', ...path].join('_')
      const body = stdout.split(`\n${name}() {\n`)[1]?.split('\n}\n')[0]?.replaceAll("'\\''", "'") as string
      const offered = [...body.matchAll(/'\*(--[\w-]+)=?\[/g)].map(([, option]) => option)
      expect({ name, offered }).toEqual({
        name,
        offered: command
          .createHelp()
          .visibleOptions(command)
          .map(({ long }) => long),
      })
      for (const { argChoices } of command.options) if (argChoices !== undefined) expect(body).toContain(`:value:(${argChoices.join(' ')})'`)
      // In the same word or in the next one, as in commander.
      for (const { long, required } of command.options) if (required) expect(body).toContain(`'*${long}=[`)
      for (const below of command.commands) expect(body).toContain(`${below.name()}) ${name}_${below.name()} ;;`)
    }
  })

  const here = found('zsh')

  it.skipIf(!here).each(nightly('zsh'))(`is read by %s without a fault${here ? '' : ' (SKIPPED: there is no zsh in PATH)'}`, async () => {
    expect(await answersOf('zsh', ['-f', '-n', script('zsh')], [])).toEqual([])
  })
})

it('another shell is a usage error', async () => {
  expect(await hexline(['completion', 'ksh'])).toEqual({
    code: 2,
    stdout: '',
    stderr: "hexline: command-argument value 'ksh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.\n",
  })
})
