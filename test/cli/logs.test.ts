import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hexline, inShell } from '../support/command.ts'
import { startLogChain, TRANSFER, tokens, type WireLog } from '../support/log-chain.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-logs-'))
})
afterEach(() => rm(folder, { recursive: true }))

const token = tokens[0] as string
const event = 'Transfer(address,address,uint256)'
const filter = { address: token, topics: [TRANSFER] }
const job = (url: string, ...more: string[]) => ['logs', '--rpc', url, '--address', token, '--event', event, '--from', '0', '--to', 'latest', ...more]
const linesOf = (text: string): WireLog[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('hexline logs', () => {
  it('writes one log a line to stdout, as the node sent it', async () => {
    const chain = await startLogChain({ head: 2000 })
    const { code, stdout } = await hexline(job(chain.url, '--audit', 'none'))
    expect(code).toBe(0)
    expect(stdout).toBe(
      `${chain
        .logs(0, 2000, filter)
        .map((log) => JSON.stringify(log))
        .join('\n')}\n`,
    )
  })

  it('writes the logs of the last blocks with --last', async () => {
    const chain = await startLogChain({ head: 2000 })
    const { code, stdout, stderr } = await hexline(['logs', '--rpc', chain.url, '--address', token, '--event', event, '--last', '50', '--audit', 'receipts'])
    expect(code).toBe(0)
    expect(linesOf(stdout)).toEqual(chain.logs(1951, 2000, filter))
    expect(stderr).toMatch(/^audit by receipts: 50 headers, and the receipts of 50 blocks\n50 blocks, /)
  })

  it('writes what the node left out in the bytes of its receipts, and says what it did', async () => {
    const chain = await startLogChain({ head: 300, drops: (log) => Number(log.blockNumber) % 7 === 0 })
    const out = join(folder, 'logs.ndjson')
    const { code, stdout, stderr } = await hexline(job(chain.url, '--audit', 'receipts', '--out', out))
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(linesOf(await readFile(out, 'utf8'))).toEqual(chain.logs(0, 300, filter))
    expect(await readdir(folder)).toEqual(['logs.ndjson'])
    expect(stderr).toMatch(
      /^audit by receipts: 301 headers, and the receipts of 301 blocks\n301 blocks, [\d.]+ kB in [\d.]+ s \([\d,]+ blocks\/s\) \| \d+ logs, \d+ recovered\n$/,
    )
  })

  it('finds by a second node what the first one left out, and refuses peer for one node', async () => {
    const [whole, leaky] = [await startLogChain({ head: 300 }), await startLogChain({ head: 300, drops: (log) => Number(log.blockNumber) % 7 === 0 })]
    const { code, stdout, stderr } = await hexline(job(leaky.url, '--rpc', whole.url, '--audit', 'peer'))
    expect(stderr).toMatch(/^audit by peer: each range of logs from a second node, too, and the receipts of blocks where the two differ\n/)
    expect(code).toBe(0)
    expect(linesOf(stdout)).toEqual(whole.logs(0, 300, filter))
    expect(await hexline(job(whole.url, '--audit', 'peer'))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'hexline: --audit: expected several nodes for peer, by repeating --rpc, received one\n',
    })
  })

  it('says that it wrote nothing where there are no logs', async () => {
    const chain = await startLogChain({ head: 300, logs: () => 0 })
    const { code, stdout, stderr } = await hexline(job(chain.url, '--audit', 'none'))
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toMatch(/^301 blocks, 0 B in [\d.]+ s \([\d,]+ blocks\/s\) \| 0 logs\n$/)
  })

  it('ends with 1 when blocks are left that could not be proven, and keeps the file', async () => {
    const chain = await startLogChain({ head: 50, bloom: () => `0x${'0'.repeat(512)}` })
    const out = join(folder, 'logs.ndjson')
    const { code, stderr } = await hexline(job(chain.url, '--audit', 'bloom', '--out', out))
    expect(code).toBe(1)
    expect(stderr).toMatch(/hexline: \d+ blocks could not be proven: \d+ because the chain leaves blooms empty\n$/)
    expect(linesOf(await readFile(out, 'utf8'))).toEqual(chain.logs(0, 50, filter))
  })

  it('says that a range that is not final was not audited, unless that was asked for', async () => {
    const chain = await startLogChain({
      head: 50,
      answer: (method, params) => (method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? { result: null } : undefined),
    })
    const { code, stderr } = await hexline(job(chain.url))
    expect(code).toBe(0)
    expect(stderr).toMatch(/\nnot audited, because the range is not final: use --audit or --to finalized to find blocks that were left out\n$/)
    expect((await hexline(job(chain.url, '--audit', 'none'))).stderr).not.toContain('not audited')
  })

  it('warns of blocks that could not be proven where --audit was not given', async () => {
    const chain = await startLogChain({ head: 50, bloom: () => `0x${'0'.repeat(512)}` })
    const { code, stderr } = await hexline([...job(chain.url).slice(0, -1), 'finalized'])
    expect(code).toBe(0)
    expect(stderr).toMatch(/\nhexline: warning: \d+ blocks could not be proven: \d+ because the chain leaves blooms empty\n$/)
  })

  it('says what an audit costs before it starts, and where that is little', async () => {
    const chain = await startLogChain({
      head: 50,
      answer: (method) => (method === 'eth_getLogs' ? { error: { code: -32601, message: 'the method does not exist' } } : undefined),
    })
    const { code, stderr } = await hexline(['logs', '--rpc', chain.url, '--address', `0x${'12'.repeat(20)}`, '--from', '0', '--to', '50', '--audit', 'bloom'])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^audit by bloom: 51 headers, and the receipts of hardly any block\. It finds blocks whose logs are all missing; --audit receipts finds single missing logs, too\nhexline: /,
    )
  })

  it('takes topics by position, alternatives, and addresses for their topics', async () => {
    const chain = await startLogChain({ head: 200 })
    const all = chain.logs(0, 200)
    const [one, two] = [all[3]?.topics[1] as string, all[9]?.topics[1] as string]
    const { stdout } = await hexline(['logs', '--rpc', chain.url, '--topic', 'any', '--topic', `${one},0x${two.slice(26)}`, '--from', '0', '--to', '200'])
    expect(linesOf(stdout)).toEqual(all.filter(({ topics }) => topics[1] === one || topics[1] === two))
  })

  it.each<[string[], string]>([
    [['--address', '0x12'], '--address: address[1]: expected an address (20 bytes in hex)'],
    [['--topic', 'Transfer'], '--topic: expected a topic (32 bytes in hex), an address, or `any`'],
    [['--topic', 'any,0x12'], '--topic: expected `any` alone, or topics separated by commas, received "any,0x12"'],
    [['--event', 'Transfer'], "--event: expected an event such as 'Transfer(address,address,uint256)'"],
    [['--from', '9'], '--to: expected at least the first block, 9, received 5'],
  ])('refuses %j with 2', async (more, message) => {
    const { code, stdout, stderr } = await hexline([...job('http://127.0.0.1:1').slice(0, -1), '5', ...more])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`hexline: ${message}`)
  })

  it('says where to go on when the disk is full, counting the lines of a block that is not complete', async () => {
    const chain = await startLogChain({ head: 3000 })
    const path = join(folder, 'y')
    const { code, stderr } = await inShell(`ulimit -f 64; $hexline logs --rpc ${chain.url} --from 0 --to 3000 --audit none > ${path}`)
    expect(code).toBe(1)
    const parts = (await readFile(path, 'utf8')).split('\n')
    const isCut = parts.pop() !== ''
    const all = chain.logs(0, 3000)
    const next = Number(all[parts.length]?.blockNumber)
    const lines = parts.filter((line) => Number(JSON.parse(line).blockNumber) === next).length
    expect(isCut).toBe(true)
    const part = lines === 0 ? 'that part' : lines === 1 ? 'that part and the line before it' : `that part and the ${lines} lines before it`
    expect(stderr).toContain(
      `the output ends in the middle of ${lines === 0 ? 'the line' : 'a line'} of block ${next}: remove ${part}, and continue with --from ${next}\n`,
    )
  })
})
