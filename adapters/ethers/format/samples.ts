/*
 * A block as nodes send it, with every kind of transaction. hexline's formatter is compared with
 * the installed ethers' on it. Only which fields are present matters, not their values.
 */

const HASH = `0x${'1b'.repeat(32)}`
const ADDRESS = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045'
const ACCESS_LIST = [{ address: ADDRESS, storageKeys: [HASH] }]

export function sampleBlock(): Record<string, unknown> {
  const mined = { hash: HASH, blockHash: HASH, blockNumber: '0x10', from: ADDRESS, to: ADDRESS }
  const plain = { ...mined, nonce: '0x0', gas: '0x5208', value: '0x1', input: '0x12', gasPrice: '0x7', r: '0x1', s: HASH }
  const fees = { maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1', accessList: ACCESS_LIST, chainId: '0x1' }
  const authorization = { chainId: '0x1', address: ADDRESS, nonce: '0x3', yParity: '0x1', r: HASH, s: HASH }
  const transactions = [
    { ...plain, type: '0x0', v: '0x25', chainId: '0x1' },
    { ...plain, v: '0x1b', to: null },
    { ...plain, type: '0x0', v: '0x26' },
    { ...plain, type: '0x1', v: '0x1', accessList: ACCESS_LIST, chainId: '0x1' },
    { ...plain, ...fees, type: '0x2', v: '0x0', yParity: '0x0' },
    { ...plain, ...fees, type: '0x3', v: '0x0', yParity: '0x0', maxFeePerBlobGas: '0x2', blobVersionedHashes: [HASH] },
    { ...plain, ...fees, type: '0x4', v: '0x1', yParity: '0x1', authorizationList: [authorization] },
    { ...plain, type: '0x7e', v: '0x0', mint: '0x1', sourceHash: HASH, isSystemTx: false },
  ]
  return {
    number: '0x10',
    hash: HASH,
    parentHash: HASH,
    parentBeaconBlockRoot: HASH,
    nonce: '0x0000000000000000',
    mixHash: HASH,
    logsBloom: HASH,
    stateRoot: HASH,
    receiptsRoot: HASH,
    transactionsRoot: HASH,
    miner: ADDRESS,
    gasLimit: '0x1c9c380',
    gasUsed: '0x5208',
    blobGasUsed: '0x20000',
    excessBlobGas: '0x0',
    baseFeePerGas: '0x7',
    timestamp: '0x6553f100',
    difficulty: '0x0',
    extraData: '0x68',
    transactions: transactions.map((each, i) => ({ ...each, transactionIndex: `0x${i.toString(16)}` })),
  }
}
