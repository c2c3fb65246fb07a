import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Interrupted, Unfinished } from '../../../src/cli/output/failure.ts'
import { type MessageFlags, messagesFor } from '../../../src/cli/output/messages.ts'
import { HexlineError, OptionError } from '../../../src/errors.ts'

/** The lines that are written to stderr. */
function start(flags: MessageFlags, args: readonly string[] = []) {
  const lines: string[] = []
  const stderr = new Writable({
    decodeStrings: false,
    write(text, _, done) {
      lines.push(text)
      done()
    },
  })
  return { lines, messages: messagesFor(flags, { stderr, args }) }
}

const failure = new Unfinished(new HexlineError('the node is down', 'network', { method: 'eth_getBlockByNumber', endpoint: 'a.example' }), 42n, true)

describe('messages', () => {
  it('are sentences', () => {
    const { lines, messages } = start({})
    messages.tell('5 blocks', { type: 'done', blocks: 5 })
    messages.warn('be careful')
    messages.fail(new OptionError('from', 'a number', '"x"'))
    expect(lines).toEqual(['5 blocks\n', 'hexline: warning: be careful\n', 'hexline: --from: expected a number, received "x"\n'])
  })

  it('are JSON with --json, one a line', () => {
    const { lines, messages } = start({ json: true })
    messages.tell('5 blocks', { type: 'done', blocks: 5n })
    messages.warn('be\ncareful')
    messages.fail(failure)
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: 'done', blocks: '5' },
      { type: 'warning', message: 'be\ncareful' },
      {
        type: 'error',
        message: expect.stringMatching(/^the node is down; .*continue with --from 42$/),
        ...{ kind: 'network', method: 'eth_getBlockByNumber', endpoint: 'a.example', attempts: 0, next: '42', isCut: true, exitCode: 1 },
      },
    ])
  })

  it('say how long the node asked to wait', () => {
    const { lines, messages } = start({ json: true })
    messages.fail(new HexlineError('HTTP 429', 'rate-limit', { retryAfterMs: 5000 }))
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: 'error', message: 'HTTP 429; try again in 5 s, as it asks', kind: 'rate-limit', attempts: 0, retryAfterMs: 5000, exitCode: 1 },
    ])
  })

  it('are no errors where the user ended the job', () => {
    const { lines, messages } = start({ json: true })
    messages.fail(new Interrupted('ended by Ctrl-C', 130))
    messages.fail(new Unfinished(new Interrupted('ended by Ctrl-C', 130), 42n, false))
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: 'interrupted', message: 'ended by Ctrl-C', exitCode: 130 },
      { type: 'interrupted', message: 'ended by Ctrl-C; continue with --from 42', next: '42', exitCode: 130 },
    ])
  })

  it('are only failures with --quiet', () => {
    const { lines, messages } = start({ quiet: true })
    messages.tell('5 blocks', {})
    messages.warn('be careful')
    messages.fail('no')
    expect(lines).toEqual(['hexline: no\n'])
  })

  it('hide arguments that a server echoes', () => {
    const { lines, messages } = start({}, ['--rpc', 'https://a.example/Zk3yQ0123456789abcdefXYZ'])
    messages.fail(new HexlineError('bad key Zk3yQ0123456789abcdefXYZ', 'auth'))
    expect(lines).toEqual(['hexline: bad key [hidden]; check the key\n'])
  })
})
