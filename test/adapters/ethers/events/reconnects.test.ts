import { describe, expect, it } from 'vitest'
import { cutWhileListening } from '../../../support/ethers-reconnects.ts'

describe('blocks and logs over a WebSocket', () => {
  it('come once and in order over 40 lost sockets', async () => {
    const { blocks, logs, expected } = await cutWhileListening({ cuts: 40, seed: 1, mayReorganise: false })
    expect(blocks).toEqual(expected.blocks)
    expect(logs).toEqual(expected.logs)
  })

  it('come once over 40 lost sockets and reorganisations', async () => {
    const { blocks, logs, expected } = await cutWhileListening({ cuts: 40, seed: 2, mayReorganise: true })
    expect(blocks).toEqual(expected.blocks)
    expect(new Set(logs).size).toBe(logs.length)
    // Logs of blocks that were replaced later may come, too.
    expect(logs.filter((log) => expected.logs.includes(log)).toSorted()).toEqual(expected.logs.toSorted())
  })
})
