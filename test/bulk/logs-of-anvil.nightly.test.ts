import { expect, it } from 'vitest'
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
} from '../support/anvil-logs.ts'

it('200,000 transfers in 50,000 blocks of anvil are those that viem and ethers get in ranges, value by value', { timeout: 3_600_000 }, async () => {
  const chain = await startTransferChain(50_000, 200_000, 100)
  const filter = { address: [...contracts] }
  const { lines } = await logsOfHexline(chain, filter)
  expect(lines).toHaveLength(200_000)
  expect(difference(lines, await logsOfViem(chain, filter, 2000))).toBeUndefined()
  const ofEthers = await logsOfEthers(chain, filter, 2000)
  expect(difference(lines.map(ethersFields), ofEthers.map(fieldsOfEthers))).toBeUndefined()
  expect(difference(await logsOfHexlineProvider(chain, filter), ofEthers)).toBeUndefined()
  const { inRange, byViem } = await decodedTransfers(chain, senders[0], 2000)
  expect(inRange.length).toBeGreaterThan(90_000)
  expect(difference(inRange, byViem)).toBeUndefined()
})

/** The first lines that differ, since the whole lists would be too long to show. */
function difference(mine: readonly string[], theirs: readonly string[]): object | undefined {
  const length = Math.max(mine.length, theirs.length)
  for (let i = 0; i < length; i++) if (mine[i] !== theirs[i]) return { at: i, mine: mine[i], theirs: theirs[i], lengths: [mine.length, theirs.length] }
  return undefined
}
