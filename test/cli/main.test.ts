import { existsSync } from 'node:fs'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { hexline, inShell } from '../support/command.ts'
import { deadPort } from '../support/server.ts'

describe('the exit code', () => {
  it('is 0 after help and version, which go to standard output', async () => {
    expect(await hexline(['--version'])).toEqual({ code: 0, stdout: '0.0.0\n', stderr: '' })
    expect(await hexline(['call', '--help'])).toMatchObject({ code: 0, stderr: '' })
  })

  it.skipIf(!existsSync('/dev/full')).each(['--help', '--version', 'call --help', 'help plan export'])('is 1 where %s has no room', async (args) => {
    const stderr = 'hexline: standard output cannot be written: no space left on the disk; nothing was written\n'
    expect(await inShell(`$hexline ${args} > /dev/full`)).toEqual({ code: 1, stdout: '', stderr })
  })

  it('is 2 for wrong usage, which is reported once', async () => {
    const { code, stdout, stderr } = await hexline(['bloks'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.match(/unknown command/g)).toHaveLength(1)
  })

  it('is 2 for wrong usage, with --json as JSON of the kind that wrong options have', async () => {
    for (const args of [['bloks'], ['call'], ['blocks', '--form', '0'], ['nft', 'transfers'], ['blocks', '--from', 'x', '--to', '5']]) {
      const { code, stdout, stderr } = await hexline([...args, '--json'], { env: { HEXLINE_NFT_URL: 'http://127.0.0.1:1', HEXLINE_API_KEY: 'key' } })
      expect([code, stdout, JSON.parse(stderr)]).toEqual([2, '', expect.objectContaining({ type: 'error', kind: 'invalid', exitCode: 2 })])
    }
  })

  it('is 1 for a failure, with --json as JSON', async () => {
    const args = ['call', 'eth_chainId', '--rpc', `http://127.0.0.1:${await deadPort()}`, '--deadline', '0.01']
    expect(await hexline([...args])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^hexline: [^\n]+\n$/) })
    const { code, stderr } = await hexline([...args, '--json'])
    expect([code, JSON.parse(stderr)]).toEqual([1, expect.objectContaining({ type: 'error', exitCode: 1 })])
  })

  it('is the same where nobody reads the messages', async () => {
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done() })
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
    const closed = new Promise<void>((resolve) => stderr.on('close', resolve))
    expect(await main('0.0.0', { args: ['bloks'], env: {}, stdout, stderr })).toBe(2)
    // An error without a listener would have ended the process.
    await closed
  })
})
