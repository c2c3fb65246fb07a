import { createClient, TransactionLostError, waitForReceipt } from 'hexline'

const client = createClient('wss://rpc.example.com/KEY')
const hash = await client.call('eth_sendRawTransaction', '0x02f8…' as `0x${string}`)
try {
  const { status, blockNumber } = await waitForReceipt(client, hash, { confirmations: 3, deadlineMs: 600_000 })
  console.log(blockNumber, status === 1 ? 'done' : 'reverted')
} catch (error) {
  if (!(error instanceof TransactionLostError)) throw error
  console.log(error.reason === 'replaced' ? `${error.replacedBy} took its nonce` : 'dropped: send it again')
}
