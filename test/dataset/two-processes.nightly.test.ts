import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ChainOptions } from '../support/chain-server.ts'
import { hexline, spawnHexline, startHexline } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { digestsOf } from '../support/dataset-kills.ts'
import { eventually } from '../support/eventually.ts'

let onPost: ChainOptions['gate'] & object
let server: DatasetChain
let folder: string
let dir: string
beforeEach(async () => {
  onPost = () => {}
  server = await startDatasetChain({ head: 60, gate: (calls) => onPost(calls) })
  folder = await mkdtemp(join(tmpdir(), 'hexline-two-processes-'))
  dir = join(folder, 'data')
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const argsFor = (out: string) => ['export', '--rpc', server.url, '--from', '1', '--to', '60', '--out', out, '--blocks-per-file', '5', '--batch', '5', '--quiet']

/**
 * Starts an export and holds it when it has part of its files: those of the later blocks wait for
 * `open`.
 */
async function heldExport() {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  onPost = (calls) => (calls.some(({ params }) => Number(params[0]) > 30) ? gate : undefined)
  const child = startHexline(argsFor(dir))
  await eventually(() => expect(existsSync(join(dir, 'blocks/000000020-000000024.parquet'))).toBe(true))
  onPost = () => {}
  return { child, open }
}

it('a second process says which one holds the folder, and the first one loses nothing', async () => {
  const { child, open } = await heldExport()
  expect(await spawnHexline(argsFor(dir))).toEqual({ code: 1, stdout: '', stderr: `hexline: ${dir} is in use by process ${child.pid}\n` })
  open()
  expect(await child.ended).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await hexline(argsFor(join(folder, 'alone')))).code).toBe(0)
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(folder, 'alone')))
})

it('of several that continue at once what a killed one left, each that ends with 0 has the whole folder', async () => {
  const { child, open } = await heldExport()
  child.kill('SIGKILL')
  expect((await child.ended).code).toBe(null)
  open()
  expect(JSON.parse(await readFile(join(dir, '.lock'), 'utf8')).pid).toBe(child.pid)
  const others = Array.from({ length: 3 }, () => startHexline(argsFor(dir)))
  const results = await Promise.all(others.map(({ ended }) => ended))
  expect(results.filter(({ code }) => code === 0)).not.toEqual([])
  for (const { code, stderr } of results) {
    const holder = /^hexline: .* is in use by process (\d+)\n$/.exec(stderr)?.[1]
    expect([code, stderr]).toEqual(holder === undefined ? [0, ''] : [1, `hexline: ${dir} is in use by process ${holder}\n`])
    if (holder !== undefined) expect(others.map(({ pid }) => String(pid))).toContain(holder)
  }
  expect((await hexline(argsFor(join(folder, 'alone')))).code).toBe(0)
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(folder, 'alone')))
})
