import { describe, expect, it } from 'vitest'
import { isSafe, methodNames } from '../../src/eth/methods.ts'
import { isOtherRead } from '../../src/eth/other-reads.ts'

describe('may run twice', () => {
  it.each([
    ...[
      'eth_call',
      'eth_getBlockByNumber',
      'eth_getLogs',
      'eth_syncing',
      'eth_blobBaseFee',
      'eth_capabilities',
      'eth_getBlockAccessList',
      'eth_simulateV1',
      'eth_callMany',
      'eth_getFilterLogs',
    ],
    ...['net_version', 'web3_clientVersion', 'txpool_content', 'trace_block', 'debug_traceTransaction', 'debug_storageRangeAt', 'ots_getBlockDetails'],
    ...['zks_getBlockDetails', 'zks_L1BatchNumber', 'linea_estimateGas', 'arbtrace_call', 'anvil_getAutomine', 'erigon_getHeaderByNumber', 'bor_getAuthor'],
    ...['wallet_getCapabilities', 'eth_supportedEntryPoints', 'rpc_modules', 'optimism_outputAtBlock'],
    ...['parity_pendingTransactions', 'admin_nodeInfo', 'clique_getSigners', 'personal_listAccounts', 'engine_getClientVersionV1', 'arb_getL1Confirmations'],
    ...['alchemy_getTokenBalances', 'debug_getRawBlock', 'debug_dumpBlock', 'hardhat_metadata', 'anvil_nodeInfo', 'zks_estimateFee', 'txpool_status'],
  ])('%s', (method) => expect(isSafe(method)).toBe(true))
})

describe('must not run twice', () => {
  it.each([
    ...['eth_sendRawTransaction', 'eth_sendTransaction', 'eth_sign', 'eth_signTransaction', 'eth_newFilter', 'eth_getFilterChanges', 'eth_uninstallFilter'],
    ...['anvil_mine', 'evm_mine', 'evm_snapshot', 'evm_revert', 'evm_increaseTime', 'hardhat_setBalance', 'miner_start', 'admin_addPeer', 'debug_setHead'],
    ...['personal_unlockAccount', 'wallet_sendCalls', 'zks_sendRawTransactionWithDetailedOutput', 'eth_getEncryptionPublicKey', 'engine_newPayloadV3'],
    ...['txpool_add', 'txpool_clear', 'txpool_constructor', 'net_addPeer', 'web3_send', 'trace_setup', 'ots_index', 'arbtrace_start', 'debug_traceBlockToFile'],
    ...[
      'debug_standardTraceBlockToFile',
      'debug_accountDelete',
      'bor_getVoteOnHash',
      'engine_getPayloadV3',
      'foo_getAndDelete',
      'foo_callBack',
      'parity_getNextJob',
    ],
    ...['getBalance', 'x', '', 'eth_getuser', 'toString'],
  ])('%s', (method) => expect(isSafe(method)).toBe(false))
})

it('is said in one place: by the row of a method, or by the list for those without a row', () => {
  expect(methodNames.filter(isOtherRead)).toEqual([])
})

it('is said of each method with a row', () => {
  expect(methodNames.filter((name) => !isSafe(name))).toEqual([
    'eth_sendRawTransaction',
    'eth_getFilterChanges',
    'eth_newBlockFilter',
    'eth_newFilter',
    'eth_newPendingTransactionFilter',
    'eth_sendRawTransactionSync',
    'eth_uninstallFilter',
  ])
})
