import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { hexline, spawnHexline } from '../support/command.ts'
import { errorOf } from '../support/server.ts'

/** The output of a command line, and the reported failures. */
function run(...args: string[]) {
  return runIn(80, ...args)
}

/** The same on a terminal of this many columns. */
async function runIn(columns: number, ...args: string[]) {
  let printed = ''
  const stdout = new Writable({
    write(text, _, done) {
      printed += text
      done()
    },
  })
  const failures: string[] = []
  const messages = { tell() {}, warn() {}, explain: String, fail: (error: unknown) => void failures.push((error as Error).message) }
  const program = await createProgram('1.2.3', messages, { args, env: {}, stdout: Object.assign(stdout, { columns }), stderr: stdout }, (text) => {
    printed += text
  })
  const error = await errorOf(program.parseAsync(args, { from: 'user' }))
  expect(error).toBeInstanceOf(CommanderError)
  return { printed, failures }
}

describe('help and version go to the output', () => {
  it('--version', async () => {
    expect(await run('--version')).toEqual({ printed: '1.2.3\n', failures: [] })
  })

  it('--help names every command', async () => {
    const { printed, failures } = await run('--help')
    expect(printed.match(/^ {2}[a-z]+(?= )/gm)?.map((name) => name.trim())).toEqual([
      'call',
      'blocks',
      'logs',
      'follow',
      'export',
      'worker',
      'jobs',
      'merge',
      'verify',
      'plan',
      'sql',
      'probe',
      'tokens',
      'tx',
      'nft',
      'streams',
      'sandbox',
      'completion',
      'help',
    ])
    expect(failures).toEqual([])
    expect((await run('help', 'help')).printed).toMatch(/^Usage: hexline /)
    expect((await run('nft', 'transfers', '--help')).printed).toMatch(/^Usage: hexline nft transfers /)
  })
})

it.each(['blocks', 'logs', 'follow', 'jobs'])('the help of %s names no default of flags, which are off', async (name) => {
  const { printed } = await runIn(500, name, '--help')
  expect(printed).toContain('(default: ')
  expect(printed).not.toMatch(/default: (?:false|true|null|undefined)/)
})

describe('help fits a narrow terminal', () => {
  it.each(['blocks', 'call', 'export', 'sandbox', 'nft'])('%s --help', async (name) => {
    const { printed } = await runIn(40, name, '--help')
    const [before = ''] = printed.split('Examples:')
    const [usage, ...lines] = before.split('\n')
    expect(usage).toMatch(/^Usage: hexline /)
    // Only a long word alone in its line is longer.
    for (const line of lines) if (line.trim().includes(' ')) expect(line.length, line).toBeLessThanOrEqual(40)
    // Nothing is lost: the words are those of a wide terminal.
    const wide = await runIn(500, name, '--help')
    expect(printed.split(/\s+/)).toEqual(wide.printed.split(/\s+/))
  })
})

describe('wrong usage is reported once, and nothing is printed', () => {
  it.each([
    [['bloks'], "unknown command 'bloks' (Did you mean blocks?)"],
    [['tokens', '--rpc', 'http://127.0.0.1:1'], "unknown option '--rpc': this command reads from the REST service, not from a node"],
    [['streams', '--limti', '1'], "unknown option '--limti' (Did you mean --limit?)"],
    [['nft', 'transfers', '--limit', 'x'], "option '--limit <n>' argument 'x' is invalid. It must be a whole number from 0 to 2^53 - 1."],
    [['call', 'eth_chainId', '--raw=1'], "option '--raw' takes no value"],
    [['call', 'eth_chainId', '--raw=http://user:SECRET@host'], "option '--raw' takes no value"],
    [['blocks', '--form', '0', '--to=1'], "unknown option '--form' (Did you mean --from?)"],
    [['blocks', '--from=0', '--zz=1'], "unknown option '--zz'"],
    [['blocks', '--from', '0'], "required option '--to <block>' not specified"],
    [['blocks', '--from', '0', '--api-key', '--secret-key', '--chain', 'eth'], "required option '--to <block>' not specified"],
    [['blocks', '--from', '0', '--out=--odd', '--', '--bar'], "required option '--to <block>' not specified"],
    [['blocks', '--from', '-1', '-x'], "unknown option '-x'"],
    [['help', '--', 'zz'], "unknown command 'zz'; 'hexline --help' lists the commands"],
    [['help', 'bloks'], "unknown command 'bloks' (Did you mean blocks?)"],
    [['nft', 'help', 'zz'], "unknown command 'zz'; 'hexline nft --help' lists the commands"],
    [['doctor'], "unknown command 'doctor'; 'hexline --help' lists the commands"],
    [['call', 'eth_chainId', '--rpc'], "option '--rpc <url>' argument missing"],
    [['blocks', '--last', '--rpc', 'http://127.0.0.1:1'], "option '--last <count>' argument missing"],
    [['blocks', '--from', '0', '--to', '1', '--out', '--force'], "option '--out <file>' argument missing"],
    [['plan', 'logs', '--topic', '-h'], "option '--topic <topic>' argument missing"],
    [['tokens', '0x12', '--token', '0x13', '--json', '--chain', '--all'], "option '--chain <name>' argument missing"],
    [['--rpc', 'http://127.0.0.1:1', 'logs', '--last', '3'], "unknown option '--rpc': it goes after the name of a command, as in 'hexline logs --rpc'"],
    [['plan', '--from=0'], "unknown option '--from': it goes after the name of a command, as in 'hexline plan export --from'"],
    [['--jsn', 'call'], "unknown option '--jsn'"],
    [
      ['blocks', '--last', '3', 'http://u:SECRET@host', 'b', 'c'],
      "too many arguments for 'blocks'. Expected 0 arguments but got 3. Not expected: a URL and 2 more",
    ],
    [
      ['export', '--from=0', '--to=1', '--out=a', '--tables=blocks,', 'logs'],
      `too many arguments for 'export'. Expected 0 arguments but got 1. Not expected: "logs"`,
    ],
    [
      ['blocks', '--last', '3', '0123456789abcdef0123456789abcdef'],
      `too many arguments for 'blocks'. Expected 0 arguments but got 1. Not expected: a string of 32 characters`,
    ],
  ])('%j', async (args, message) => {
    expect(await run(...args)).toEqual({ printed: '', failures: [message] })
  })
})

it('hexline help of a command of a group is its help', async () => {
  const of = (...names: string[]) => hexline(['help', ...names])
  expect((await of('plan', 'export')).stdout).toMatch(/^Usage: hexline plan export /)
  expect(await of('nft', 'zz')).toEqual({ code: 2, stdout: '', stderr: "hexline: unknown command 'zz'; 'hexline nft --help' lists the commands\n" })
  // Nothing is called.
  expect((await of('call', 'eth_chainId')).stdout).toMatch(/^Usage: hexline call /)
})

describe('only what a command needs is loaded', () => {
  /** The folders of the modules that the built command loads, as V8 counts them. */
  async function foldersOf(...args: string[]): Promise<Set<string>> {
    const folder = await mkdtemp(join(tmpdir(), 'hexline-loaded-'))
    try {
      expect((await spawnHexline(args, { env: { NODE_V8_COVERAGE: folder } })).code).toBe(0)
      const [file] = await readdir(folder)
      const { result } = JSON.parse(await readFile(join(folder, file as string), 'utf8')) as { result: { url: string }[] }
      return new Set(result.flatMap(({ url }) => /\/dist\/src\/([\w-]+)\//.exec(url)?.[1] ?? []))
    } finally {
      await rm(folder, { recursive: true })
    }
  }

  it.each([
    [['--version'], ['rpc', 'bulk', 'dataset']],
    [
      ['call', '--help'],
      ['bulk', 'dataset', 'plan', 'verify'],
    ],
    [
      ['tokens', '--help'],
      ['rpc', 'bulk', 'dataset'],
    ],
  ])('%j', async (args, unneeded) => {
    const folders = await foldersOf(...args)
    expect(folders).toContain('cli')
    expect(unneeded.filter((folder) => folders.has(folder))).toEqual([])
  })
})
