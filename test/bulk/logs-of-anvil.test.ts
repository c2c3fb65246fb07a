import { describe, expect, it } from 'vitest'
import {
  contracts,
  decodedTransfers,
  ethersFields,
  fieldsOfEthers,
  logsOfEthers,
  logsOfHexline,
  logsOfHexlineProvider,
  logsOfViem,
  senders,
  startTransferChain,
  TRANSFER,
  type TransferFilter,
} from '../support/anvil-logs.ts'

const filters: [string, TransferFilter][] = [
  ['any address', {}],
  ['one address', { address: contracts[1] }],
  ['two addresses and a sender', { address: [...contracts], topics: [TRANSFER, `0x${senders[1].slice(2).padStart(64, '0')}`] }],
]

describe('the logs of anvil', () => {
  it('are those that viem and ethers get in ranges, value by value', async () => {
    const chain = await startTransferChain(300, 1200, 10)
    for (const [name, filter] of filters) {
      const { lines } = await logsOfHexline(chain, filter)
      expect(lines.length, name).toBeGreaterThan(0)
      expect(lines, name).toEqual(await logsOfViem(chain, filter, 100))
      const ofEthers = await logsOfEthers(chain, filter, 100)
      expect(lines.map(ethersFields), name).toEqual(ofEthers.map(fieldsOfEthers))
      expect(await logsOfHexlineProvider(chain, filter), name).toEqual(ofEthers)
    }
    expect((await logsOfHexline(chain, {})).lines).toHaveLength(chain.transfers)
    const { inRange, byViem } = await decodedTransfers(chain, senders[0], 100)
    expect(inRange.length).toBeGreaterThan(0)
    expect(inRange).toEqual(byViem)
  })

  it('are proven by the blooms and the receipts of a real node', async () => {
    const chain = await startTransferChain(60, 300, 5)
    for (const level of ['bloom', 'receipts'] as const) {
      const { lines, audit } = await logsOfHexline(chain, { address: contracts[0] }, level)
      expect(audit).toMatchObject({ level, blocks: 61, recovered: 0, unproven: 0 })
      expect(lines).toEqual((await logsOfHexline(chain, { address: contracts[0] })).lines)
    }
  })
})
