import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type InstalledPackage, installPackage, root, run, startAnvilOfBlocks } from '../support/installed-package.ts'
import { type CodeBlock, codeOf, guides, textOf } from '../support/pages.ts'

/* Each program of README.md and the docs runs in the installed package, on a real node. */

let anvil: Anvil
let installed: InstalledPackage
let sandbox: Sandbox

beforeAll(async () => {
  anvil = await startAnvilOfBlocks()
  sandbox = await startSandbox({ upstream: anvil.url })
  installed = await installPackage()
  for (const name of ['viem', 'ethers', '@duckdb', '@foundry-rs']) await installed.lay(name)
})
afterAll(async () => {
  await installed?.remove()
  await sandbox?.stop()
  await anvil?.stop()
})

/** Programs that do not end, or need a server, by a part of them; other tests run them. */
const endless = {
  "client.subscribe('newHeads')": 'test/client/subscribe.test.ts',
  "item.type === 'rollback'": 'test/docs/follow.test.ts',
  'logs: { address: token } })': 'test/follow',
  "from 'hexline/bullmq'": 'needs Redis; test/adapters/bullmq',
  'new OTLPTraceExporter()': 'needs a collector; test/docs/observability.test.ts',
  '0x02f8…': 'a transaction that is cut; test/follow/wait-for-receipt.test.ts',
}

/** The same program on this machine. */
function local(code: string): string {
  return code
    .replaceAll(/(?:http:\/\/127\.0\.0\.1:8545|https:\/\/\w+\.example\.(?:com|org)\/KEY)/g, anvil.url)
    .replaceAll(/wss:\/\/\w+\.example\.com\/KEY/g, anvil.url.replace('http', 'ws'))
    .replaceAll("'https://data.example.com', apiKey: 'KEY'", `'${sandbox.service.dataUrl}', apiKey: '${sandbox.apiKey}'`)
    .replaceAll(/\b21_000_000(n?)\b/g, '0$1')
    .replaceAll("'finalized'", "'latest'")
    .replace('faults: 0.1', 'faults: 0')
}

const programs = guides().flatMap((page) => codeOf('ts', page))
const finite = programs.filter(({ code }) => !Object.keys(endless).some((part) => code.includes(part)))

it('leaves out only what other tests run', () => {
  for (const part of Object.keys(endless))
    expect(
      programs.some(({ code }) => code.includes(part)),
      part,
    ).toBe(true)
  expect(programs.length - finite.length).toBe(Object.keys(endless).length)
})

it.each(finite.map((each) => [`${each.page}, program ${each.index + 1}`, each] as const))('%s runs and ends by itself', async (_, each) => {
  await output(each, local(each.code))
})

it('docs/getting-started.md says what its programs print on a fresh node, and as which files they run', async () => {
  const fresh = await startAnvil()
  onTestFinished(() => fresh.stop())
  const page = 'docs/getting-started.md'
  const files = [...textOf(page).matchAll(/ as `(\w+\.[jt]s)`/g)].map(([, name]) => name as string)
  const printed: string[] = []
  for (const [i, { code }] of codeOf('ts', page).entries())
    printed.push(await printedBy(files[i] as string, code.replaceAll('http://127.0.0.1:8545', fresh.url)))
  const shown = [/it prints `(.*?)`/i.exec(textOf(page))?.[1], / (\d+ \d+n \d+n)$/m.exec(codeOf('ts', page)[1]?.code ?? '')?.[1]]
  expect(printed.slice(0, 2)).toEqual(shown.map((line) => `${line}\n`))
  expect(printed[2]).toMatch(/^0n .* 0\n1n .* 1\n$/)
})

function output({ page, index }: CodeBlock, code: string): Promise<string> {
  return printedBy(`${page.replaceAll(/\W/g, '-')}-${index}.ts`, code)
}

/** What a program prints. Rejects, with the output, if its exit code is not 0. */
async function printedBy(file: string, code: string): Promise<string> {
  await writeFile(join(installed.folder, file), code)
  const tsx = file.endsWith('.ts') ? [join(root, 'node_modules/tsx/dist/cli.mjs')] : []
  const { stdout } = await run(process.execPath, [...tsx, file], { cwd: installed.folder })
  return stdout
}
