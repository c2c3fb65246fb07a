/*
 * A block and a receipt as nodes send them, with every kind of transaction. hexline's formatters
 * are compared with the installed viem's on them. Only which fields are present matters, not their
 * values.
 */

const HASH = `0x${'ab'.repeat(32)}`
const ADDRESS = `0x${'cd'.repeat(20)}`
const ACCESS_LIST = [{ address: ADDRESS, storageKeys: [HASH] }]

/** A new object for each call, since formatting changes it. */
export function sampleBlock(): Record<string, unknown> {
  const mined = { hash: HASH, blockHash: HASH, blockNumber: '0x10', transactionIndex: '0x0', from: ADDRESS, to: ADDRESS }
  const plain = { ...mined, nonce: '0x0', gas: '0x5208', value: '0x0', input: '0x', gasPrice: '0x7', r: HASH, s: HASH }
  const fees = { maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1', accessList: [], chainId: '0x1' }
  const authorization = { chainId: '0x1', address: ADDRESS, nonce: '0x3', yParity: '0x1', r: HASH, s: HASH }
  return {
    number: '0x10',
    hash: HASH,
    parentHash: HASH,
    nonce: '0x0000000000000000',
    logsBloom: HASH,
    gasLimit: '0x1c9c380',
    gasUsed: '0x5208',
    timestamp: '0x6553f100',
    size: '0x220',
    difficulty: '0x0',
    extraData: '0x',
    withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: ADDRESS, amount: '0x3' }],
    transactions: [
      { ...plain, type: '0x0', v: '0x25', chainId: '0x1' },
      { ...plain, type: '0x0', v: '0x1b', to: null },
      { ...plain, type: '0x0', v: '0x25', yParity: '0x0', accessList: null, maxFeePerGas: '0x9' },
      { ...plain, type: '0x1', v: '0x1', accessList: ACCESS_LIST, chainId: '0x1' },
      { ...plain, ...fees, type: '0x2', v: '0x0', yParity: '0x0', blockTimestamp: '0x6553f100' },
      { ...plain, ...fees, type: '0x2', v: '0x1' },
      { ...plain, ...fees, type: '0x3', v: '0x0', yParity: '0x0', maxFeePerBlobGas: '0x2', blobVersionedHashes: [HASH] },
      { ...plain, ...fees, type: '0x4', v: '0x1', yParity: '0x1', authorizationList: [authorization] },
      // From another chain, with fields that viem does not know; and from a node that sends few
      // fields.
      { ...plain, type: '0x7e', v: '0x0', mint: '0x1', sourceHash: HASH, isSystemTx: false },
      { hash: HASH, from: ADDRESS, input: '0x' },
    ],
  }
}

/** A new object for each call, since formatting changes it. */
export function sampleReceipt(): Record<string, unknown> {
  const place = { blockHash: HASH, blockNumber: '0x10', transactionHash: HASH, transactionIndex: '0x0' }
  const log = { address: ADDRESS, topics: [HASH], data: '0x', logIndex: '0x0', removed: false }
  return {
    ...place,
    type: '0x2',
    status: '0x1',
    from: ADDRESS,
    to: ADDRESS,
    contractAddress: null,
    cumulativeGasUsed: '0x5208',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x7',
    logsBloom: HASH,
    blobGasUsed: '0x20000',
    blobGasPrice: '0x1',
    logs: [{ ...log, ...place }, { ...log, ...place, blockTimestamp: '0x6553f100' }, log],
  }
}
