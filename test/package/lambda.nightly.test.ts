import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type ExampleChain, startExampleChain } from '../support/example-chain.ts'
import { type InstalledPackage, installPackage } from '../support/installed-package.ts'
import { codeOf } from '../support/pages.ts'
import { each, gate, serve } from '../support/server.ts'

/*
 * The handler of docs/install.md as AWS Lambda runs it: a bundle in an empty folder, in a process
 * that is frozen between its invocations.
 */

let installed: InstalledPackage
let folder: string
let chain: ExampleChain
beforeAll(async () => {
  chain = await startExampleChain([2, 1])
  installed = await installPackage()
  folder = await mkdtemp(join(tmpdir(), 'hexline-lambda-'))
})
afterAll(async () => {
  await chain?.stop()
  await installed?.remove()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

/** Bundles a program, as for Lambda, into a file of the empty folder. */
async function bundle(contents: string, name: string): Promise<string> {
  const outfile = join(folder, name)
  await build({ stdin: { contents, resolveDir: installed.folder, loader: 'ts' }, bundle: true, platform: 'node', format: 'cjs', outfile, logLevel: 'silent' })
  return outfile
}

/** Calls the handler of a bundle for each line, as Lambda's runtime does: one after the other. */
const runtime = `const { handler } = require(process.argv[2])
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  console.log(JSON.stringify(await handler(JSON.parse(line)).catch((error) => ({ error: String(error) }))))
})
`

async function startLambda(url: string) {
  const shown = codeOf('ts', 'docs/install.md').find(({ code }) => code.includes('export async function handler'))
  const file = await bundle(shown?.code ?? '', 'index.cjs')
  await writeFile(join(folder, 'runtime.cjs'), runtime)
  const child = spawn(process.execPath, ['runtime.cjs', file], {
    cwd: folder,
    env: { ...process.env, HEXLINE_RPC_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    send: (event: object) => void child.stdin.write(`${JSON.stringify(event)}\n`),
    reply: async () => JSON.parse((await lines.next()).value as string) as object,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  }
}

const address = `0x${'11'.repeat(20)}`
const rich = each(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1234' }))

it('the folder has no node_modules', async () => {
  expect(await readdir(folder)).toEqual([])
})

it('invocations share a socket, and one after a freeze that the node has hung up in is answered, too', async () => {
  const node = await serve(rich)
  const lambda = await startLambda(node.url)
  for (let i = 0; i < 2; i++) {
    lambda.send({ address })
    expect(await lambda.reply()).toEqual({ wei: '4660' })
  }
  expect(node.opened).toBe(1)

  lambda.freeze()
  const [socket] = node.sockets
  const gone = once(socket as NonNullable<typeof socket>, 'close')
  socket?.destroy()
  await gone
  // The next event is there before the process learns that its socket is gone.
  lambda.send({ address })
  lambda.thaw()
  expect(await lambda.reply()).toEqual({ wei: '4660' })
  expect(node.opened).toBe(2)
})

it('a call that was under way in a freeze is answered after it', async () => {
  const held = gate(rich)
  const node = await serve(held.answer)
  const lambda = await startLambda(node.url)
  lambda.send({ address })
  await node.received(1)
  lambda.freeze()
  held.open()
  lambda.thaw()
  expect(await lambda.reply()).toEqual({ wei: '4660' })
})

it('a bundle verifies blocks and datasets without the files of its threads', async () => {
  const program = `import { createClient } from 'hexline'
import { exportDataset, getBlocks, verifyDataset } from 'hexline/bulk'
async function main() {
  const client = createClient(process.argv[2] as string)
  let verified: unknown
  for await (const { number } of getBlocks(client, { from: 0, to: 2, transactions: 'full', receipts: true, verify: 'full' })) verified = Number(number)
  await exportDataset(client, { dir: 'dataset', from: 0, to: 2 })
  const { blocks } = await verifyDataset('dataset')
  await client.close()
  console.log(verified, blocks)
}
void main()
`
  const file = await bundle(program, 'program.cjs')
  const child = spawn(process.execPath, [file, chain.url], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = (await Promise.all([once(child.stdout.setEncoding('utf8'), 'data'), once(child, 'close')]))[0] as [string]
  expect(output).toBe('2 3\n')
})
