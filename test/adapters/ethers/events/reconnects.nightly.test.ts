import { expect, it } from 'vitest'
import { cutWhileListening } from '../../../support/ethers-reconnects.ts'

it('1,000 lost sockets lose no block and no log, and double none', async () => {
  const { blocks, logs, expected } = await cutWhileListening({ cuts: 1_000, seed: 3, mayReorganise: false })
  expect(blocks).toEqual(expected.blocks)
  expect(logs).toEqual(expected.logs)
})

it('neither do 1,000 lost sockets and some 500 reorganisations', async () => {
  const { blocks, logs, expected } = await cutWhileListening({ cuts: 1_000, seed: 4, mayReorganise: true })
  expect(blocks).toEqual(expected.blocks)
  expect(new Set(logs).size).toBe(logs.length)
  const seen = new Set(logs)
  expect(expected.logs.filter((log) => !seen.has(log))).toEqual([])
})
