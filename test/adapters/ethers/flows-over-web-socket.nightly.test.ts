import { describe } from 'vitest'
import { overWebSocket } from '../../support/ethers-flows.ts'

// The flows of ethers' JsonRpcProvider, with HexlineProvider over a WebSocket.
describe.each(['browser', 'calls', 'contracts', 'destroy', 'events', 'fallback', 'listeners', 'outage', 'reads', 'signers', 'waits'])('%s', async (name) => {
  await overWebSocket(() => import(`./flows-${name}.test.ts`))
})
