import { describe, expect, it } from 'vitest'
import { Notifications } from '../../src/sandbox/notifications.ts'

/** Notifications with a subscription to all logs, and what it was told. */
function setUp() {
  const notifications = new Notifications()
  const told: unknown[] = []
  notifications.addLogs('a', {}, (log) => told.push(log))
  return { notifications, told }
}
const logs = async () => [{ n: 1 }, { n: 2 }]

describe('a reorganisation', () => {
  it('announces removed logs, newest first, before everything that comes during it', async () => {
    const { notifications, told } = setUp()
    const replaced = notifications.replaceBlocks(logs, async () => {
      notifications.pass(() => told.push('a block'))
      expect(told).toEqual([])
      return 'done'
    })
    expect(await replaced).toBe('done')
    expect(told).toEqual([{ n: 2, removed: true }, { n: 1, removed: true }, 'a block'])
    notifications.pass(() => told.push('another block'))
    expect(told.at(-1)).toBe('another block')
  })

  it('that fails removes nothing, and what came in the meantime is announced', async () => {
    const { notifications, told } = setUp()
    const failure = new Error('no')
    const replaced = notifications.replaceBlocks(logs, async () => {
      notifications.pass(() => told.push('a block'))
      throw failure
    })
    await expect(replaced).rejects.toBe(failure)
    expect(told).toEqual(['a block'])
  })

  it('asks for the logs of each subscription, and announces nothing to one that has ended', async () => {
    const { notifications, told } = setUp()
    const filter = { address: '0x1' }
    notifications.addLogs('b', filter, () => told.push('b'))
    notifications.addLogs('c', {}, () => told.push('c'))
    notifications.remove('c')
    const asked: unknown[] = []
    const logsOf = async (each: object) => {
      asked.push(each)
      return logs()
    }
    await notifications.replaceBlocks(logsOf, async () => notifications.remove('a'))
    expect([asked, told]).toEqual([
      [{}, filter],
      ['b', 'b'],
    ])
  })

  it('waits for the one before', async () => {
    const { notifications } = setUp()
    const order: string[] = []
    const one = notifications.replaceBlocks(logs, async () => {
      order.push('one begins')
      await new Promise((resolve) => setImmediate(resolve))
      order.push('one ends')
      throw new Error('no')
    })
    const two = notifications.replaceBlocks(logs, async () => void order.push('two'))
    await Promise.allSettled([one, two])
    expect(order).toEqual(['one begins', 'one ends', 'two'])
  })
})
