import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaults, createNotificationFaults, deliver, type Fault, type FaultShares, faults, notificationFaults, replyOf } from '../../src/sandbox/faults.ts'
import { json } from '../../src/sandbox/reply.ts'

const drawn = (shares: FaultShares, seed: number, count: number) => {
  const next = createFaults(shares, seed)
  return Array.from({ length: count }, next)
}
const countOf = (list: readonly unknown[], value: unknown) => list.filter((each) => each === value).length

describe('the drawn faults', () => {
  it('are the same for the same seed, and others for another', () => {
    expect(drawn(0.5, 7, 100)).toEqual(drawn(0.5, 7, 100))
    expect(drawn(0.5, 7, 100)).not.toEqual(drawn(0.5, 8, 100))
  })

  it('come as often as they should, each kind alike', () => {
    const list = drawn(0.5, 1, 10_000)
    expect(countOf(list, undefined)).toBeGreaterThan(4_800)
    expect(countOf(list, undefined)).toBeLessThan(5_200)
    for (const fault of faults) {
      expect(countOf(list, fault)).toBeGreaterThan(900)
      expect(countOf(list, fault)).toBeLessThan(1_100)
    }
  })

  it('are only of the kinds with a share, and affect the same requests', () => {
    const list = drawn({ stalled: 0.3, cut: 0.1 }, 1, 10_000)
    expect(new Set(list)).toEqual(new Set([undefined, 'stalled', 'cut']))
    expect(countOf(list, 'stalled') / countOf(list, 'cut')).toBeGreaterThan(2.5)
    expect(countOf(list, 'stalled') / countOf(list, 'cut')).toBeLessThan(3.5)
  })

  it.each<[FaultShares, boolean]>([
    [0, false],
    [{}, false],
    [1, true],
    [{ truncated: 1 }, true],
  ])('with %o all requests fail, or none: %s', (shares, all) => {
    expect(drawn(shares, 3, 1_000).every((fault) => (fault !== undefined) === all)).toBe(true)
  })
})

describe('the drawn faults of notifications', () => {
  it('are the same for the same seed, and of the kinds with a share', () => {
    const drawn = (shares: Parameters<typeof createNotificationFaults>[0]) => Array.from({ length: 1_000 }, createNotificationFaults(shares, 5))
    expect(drawn(0.5)).toEqual(drawn(0.5))
    expect(new Set(drawn(0.5))).toEqual(new Set([undefined, ...notificationFaults]))
    expect(new Set(drawn({ late: 1 }))).toEqual(new Set(['late']))
  })
})

describe('the reply to a request', () => {
  it.each<[Fault | undefined, number | undefined]>([
    ['error 500', 500],
    ['error 503', 503],
    ['cut', undefined],
    ['stalled', undefined],
    ['truncated', undefined],
    [undefined, undefined],
  ])('with %s has the status %s in its place', (fault, status) => {
    expect(replyOf(fault)?.status).toBe(status)
  })

  /** What a client receives of the reply `"0123456789"`, 12 bytes of JSON. */
  async function got(fault: Fault | undefined): Promise<{ length: number | undefined; text: string; ended: boolean }> {
    const server = http.createServer((_, response) => deliver(response, json(200, '0123456789'), fault))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return new Promise((resolve) => {
      const request = http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, (response) => {
        const length = Number(response.headers['content-length'])
        let text = ''
        response.setEncoding('utf8').on('data', (more) => {
          text += more
          // A stalled reply sends half and then nothing.
          if (fault === 'stalled') resolve({ length, text, ended: false })
        })
        response.on('end', () => resolve({ length, text, ended: true }))
      })
      request.on('error', () => resolve({ length: undefined, text: '', ended: false }))
    })
  }

  it.each<[Fault | undefined, object]>([
    [undefined, { length: 12, text: '"0123456789"', ended: true }],
    ['truncated', { length: 6, text: '"01234', ended: true }],
    ['stalled', { length: 12, text: '"01234', ended: false }],
    ['cut', { length: undefined, text: '', ended: false }],
  ])('with %s is sent as %o', async (fault, expected) => {
    expect(await got(fault)).toEqual(expected)
  })
})
