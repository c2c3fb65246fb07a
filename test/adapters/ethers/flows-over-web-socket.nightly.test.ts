import { describe } from 'vitest'
import { overWebSocket } from '../../support/ethers-flows.ts'

// The flows of ethers' JsonRpcProvider, with HexlineProvider over a WebSocket.
describe.each(['calls', 'contracts', 'destroy', 'fallback', 'listeners', 'reads', 'signers', 'waits'])('%s', async (name) => {
  await overWebSocket(() => import(`./flows-${name}.test.ts`))
})
