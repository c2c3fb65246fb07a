import { Contract, type InterfaceAbi, type JsonRpcApiProvider, type JsonRpcProvider, JsonRpcSigner, parseEther, Wallet } from 'ethers'
import { expect } from 'vitest'
import type { Better, Portrait } from './ethers-failures.ts'
import { abi, contracts, errorData, holder } from './viem-failures.ts'

const HOLDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const gwei = 10n ** 9n

/** An account without funds, which no node has the key of. */
const nobody = new Wallet('0x1111111111111111111111111111111111111111111111111111111111111111')

export const contractAt = (address: string, runner: JsonRpcProvider | JsonRpcSigner | Wallet) => new Contract(address, abi as unknown as InterfaceAbi, runner)

/** A failure that one of anvil's contracts, or anvil itself, can be made to produce. */
export interface NodeRow {
  readonly name: string
  readonly run: (provider: JsonRpcProvider) => Promise<unknown>
  /** The code of the error from both providers. */
  readonly is: string
  readonly has?: Portrait
  readonly better?: Better
}

const at = (name: keyof typeof contracts, runner: Parameters<typeof contractAt>[1]) => contractAt(contracts[name].address, runner)
const read = (name: keyof typeof contracts) => (provider: JsonRpcProvider) => at(name, provider).getFunction('check')()
const simulate = (name: keyof typeof contracts) => (provider: JsonRpcProvider) => at(name, provider).getFunction('withdraw').staticCall(7n)
const write = (name: keyof typeof contracts) => async (provider: JsonRpcProvider) =>
  at(name, await provider.getSigner(holder))
    .getFunction('withdraw')
    .send(7n)
const call = (name: keyof typeof contracts) => (provider: JsonRpcProvider) => provider.call({ to: contracts[name].address })
const signed = (transaction: object) => (provider: JsonRpcProvider) =>
  new Wallet(HOLDER_KEY, provider).sendTransaction({ to: holder, gasLimit: 21_000n, ...transaction })

const reason = {
  reason: 'not enough',
  data: errorData('Error', ['not enough']),
  revert: { signature: 'Error(string)', name: 'Error', args: ['not enough'] },
  shortMessage: 'execution reverted: "not enough"',
}
const panic = { reason: 'Panic due to OVERFLOW(17)', data: errorData('Panic', [0x11n]), revert: { signature: 'Panic(uint256)', name: 'Panic', args: [17] } }
const custom = { data: errorData('TooMuch', [holder, 7n, 5n]) }
const customRead = { ...custom, revert: { name: 'TooMuch', signature: 'TooMuch(address,uint256,uint256)', args: [holder, 7n, 5n] } }
const inCall = { action: 'call' }
const inEstimate = { action: 'estimateGas' }

export const nodeRows: NodeRow[] = [
  { name: 'a revert with a reason, read', run: read('reason'), is: 'CALL_EXCEPTION', has: { ...reason, ...inCall } },
  { name: 'a revert with a reason, simulated', run: simulate('reason'), is: 'CALL_EXCEPTION', has: { ...reason, ...inCall } },
  { name: 'a revert with a reason, written', run: write('reason'), is: 'CALL_EXCEPTION', has: { ...reason, ...inEstimate } },
  { name: 'a revert with a reason, without a contract', run: call('reason'), is: 'CALL_EXCEPTION', has: { ...reason, ...inCall } },
  { name: 'a panic, read', run: read('panic'), is: 'CALL_EXCEPTION', has: { ...panic, ...inCall } },
  { name: 'a panic, written', run: write('panic'), is: 'CALL_EXCEPTION', has: { ...panic, ...inEstimate } },
  { name: 'a panic, without a contract', run: call('panic'), is: 'CALL_EXCEPTION', has: { ...panic, ...inCall } },
  { name: 'a custom error, read', run: read('custom'), is: 'CALL_EXCEPTION', has: { ...customRead, ...inCall } },
  { name: 'a custom error, simulated', run: simulate('custom'), is: 'CALL_EXCEPTION', has: { ...customRead, ...inCall } },
  // ethers decodes the errors of contract reads, but not of estimates.
  { name: 'a custom error, written', run: write('custom'), is: 'CALL_EXCEPTION', has: { ...custom, revert: null, ...inEstimate } },
  { name: 'a custom error, without a contract', run: call('custom'), is: 'CALL_EXCEPTION', has: { ...custom, revert: null, ...inCall } },
  { name: 'a custom error that the ABI does not have', run: read('unknown'), is: 'CALL_EXCEPTION', has: { data: '0xdeadbeef', revert: null } },
  { name: 'a revert without data, read', run: read('silent'), is: 'CALL_EXCEPTION', has: { data: '0x', reason: 'require(false)', revert: null } },
  { name: 'a revert without data, written', run: write('silent'), is: 'CALL_EXCEPTION', has: { data: '0x', reason: 'require(false)', ...inEstimate } },
  {
    name: 'a transaction that is reverted in its block',
    run: async (provider) => {
      const sent = await at('reason', new Wallet(HOLDER_KEY, provider)).getFunction('withdraw').send(7n, { gasLimit: 100_000n })
      return sent.wait()
    },
    is: 'CALL_EXCEPTION',
    has: { action: 'sendTransaction', receipt: { status: 0 } },
  },
  {
    name: 'a call that runs out of gas',
    run: (provider) => provider.call({ to: contracts.loop.address, gasLimit: 100_000n }),
    is: 'CALL_EXCEPTION',
    has: { shortMessage: 'missing revert data', data: null, ...inCall },
  },
  { name: 'a transaction that would run out of gas', run: write('loop'), is: 'CALL_EXCEPTION', has: { data: null, ...inEstimate } },
  {
    name: 'a contract that is not there',
    run: (provider) => contractAt(nobody.address, provider).getFunction('check')(),
    is: 'BAD_DATA',
    has: { value: '0x' },
  },
  {
    name: 'insufficient funds, sent',
    run: (provider) => nobody.connect(provider).sendTransaction({ to: holder, value: parseEther('1'), gasLimit: 21_000n }),
    is: 'INSUFFICIENT_FUNDS',
    has: { transaction: expect.stringMatching(/^0x02/) },
  },
  {
    name: 'insufficient funds, estimated',
    run: (provider) => provider.estimateGas({ from: nobody.address, to: contracts.silent.address, value: parseEther('1'), gasPrice: 100n * gwei }),
    is: 'INSUFFICIENT_FUNDS',
    has: { transaction: expect.objectContaining({ from: nobody.address.toLowerCase() }) },
  },
  { name: 'a nonce that is too low, signed here', run: signed({ nonce: 0 }), is: 'NONCE_EXPIRED', has: { transaction: expect.stringMatching(/^0x02/) } },
  {
    name: 'a nonce that is too low, signed by the node',
    run: async (provider) => (await provider.getSigner(holder)).sendTransaction({ to: holder, nonce: 0, gasLimit: 21_000n }),
    is: 'NONCE_EXPIRED',
    has: { transaction: expect.objectContaining({ nonce: '0x0' }) },
  },
  {
    name: 'a replacement that pays no more',
    run: async (provider) => {
      const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: 50n * gwei }
      await provider.send('evm_setAutomine', [false])
      try {
        const nonce = await provider.getTransactionCount(holder)
        await signed({ nonce, ...fees })(provider)
        return await signed({ nonce, value: 1n, ...fees })(provider)
      } finally {
        await provider.send('anvil_dropAllTransactions', [])
        await provider.send('evm_setAutomine', [true])
      }
    },
    is: 'REPLACEMENT_UNDERPRICED',
    has: { transaction: expect.stringMatching(/^0x02/) },
  },
  {
    name: 'intrinsic gas too low',
    run: signed({ gasLimit: 20_000n }),
    is: 'UNKNOWN_ERROR',
    has: { error: { code: -32000, message: 'intrinsic gas too low' } },
  },
  { name: 'more gas than a block has', run: signed({ gasLimit: 2n ** 40n }), is: 'UNKNOWN_ERROR' },
  {
    name: 'a fee cap below the base fee',
    run: signed({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
    is: 'UNKNOWN_ERROR',
    has: { error: { code: -32003, message: 'max fee per gas less than block base fee' } },
  },
  { name: 'an account that is not the node’s', run: (provider) => signerOf(provider).sendTransaction({ to: holder, gasLimit: 21_000n }), is: 'UNKNOWN_ERROR' },
  {
    name: 'an unknown method',
    run: (provider) => provider.send('eth_nothing', []),
    is: 'UNKNOWN_ERROR',
    better: {
      why: 'ethers knows one wording alone; the code -32601 says it in any',
      ethers: {
        code: 'UNKNOWN_ERROR',
        shortMessage: 'could not coalesce error',
        error: { code: -32601, message: 'Method not found' },
        payload: expect.anything(),
      },
      hexline: {
        code: 'UNSUPPORTED_OPERATION',
        shortMessage: 'unsupported operation',
        operation: 'eth_nothing',
        info: { error: { code: -32601, message: 'Method not found' }, payload: { method: 'eth_nothing', params: [], jsonrpc: '2.0' } },
      },
    },
  },
  { name: 'invalid params', run: (provider) => provider.send('eth_getBalance', ['0x12', 'latest']), is: 'UNKNOWN_ERROR' },
  { name: 'a transaction that cannot be decoded', run: (provider) => provider.send('eth_sendRawTransaction', ['0x1234']), is: 'UNKNOWN_ERROR' },
  { name: 'a state that is not there yet', run: (provider) => provider.getBalance(holder, 999_999), is: 'UNKNOWN_ERROR' },
]

function signerOf(provider: JsonRpcProvider): JsonRpcSigner {
  return new JsonRpcSigner(provider as JsonRpcApiProvider, nobody.address)
}

/** One node's wording of a failure, and ethers' error for it. */
export interface WordRow {
  readonly name: string
  readonly method: string
  readonly params?: readonly unknown[]
  readonly error: unknown
  readonly is: string
  readonly has?: Portrait
  readonly better?: Better
}

const raw = ['0x02f86c']
const transaction = { from: holder, to: holder, value: '0x1' }
const ofCall = [transaction, 'latest']
const sent = { method: 'eth_sendRawTransaction', params: raw }
const denied = (message: string) => ({ code: 4001, message })
const denies = (method: string, action: string): WordRow => ({
  name: `a user rejecting ${method}`,
  method,
  params: [transaction],
  error: denied('MetaMask Tx Signature: User denied transaction signature.'),
  is: 'ACTION_REJECTED',
  has: { action, reason: 'rejected', shortMessage: 'user rejected action' },
})
const words = (over: unknown, message: string): Better => ({
  why: 'an error is an object with a code, whatever came',
  ethers: { error: over },
  hexline: { error: { code: 0, message } },
})

export const wordRows: WordRow[] = [
  denies('eth_sendTransaction', 'sendTransaction'),
  denies('personal_sign', 'signMessage'),
  denies('eth_signTypedData_v4', 'signTypedData'),
  denies('eth_signTransaction', 'signTransaction'),
  denies('eth_requestAccounts', 'requestAccess'),
  denies('wallet_switchEthereumChain', 'unknown'),
  {
    name: "a user who denies in ethers' own word",
    method: 'eth_sign',
    error: denied('ethers-user-denied: no'),
    is: 'ACTION_REJECTED',
    has: { action: 'signMessage' },
  },
  {
    name: 'a transaction from before EIP-155',
    ...sent,
    error: { code: -32000, message: 'only replay-protected (EIP-155) transactions allowed over RPC' },
    is: 'UNSUPPORTED_OPERATION',
    has: { shortMessage: 'legacy pre-eip-155 transactions not supported', operation: 'eth_sendRawTransaction' },
  },
  {
    name: 'insufficient funds, as geth says it',
    ...sent,
    error: { code: -32000, message: 'insufficient funds for gas * price + value: balance 0, tx cost 1' },
    is: 'INSUFFICIENT_FUNDS',
    has: { transaction: raw[0] },
  },
  { name: 'insufficient funds, as others say it', ...sent, error: { code: -32010, message: 'base fee exceeds gas limit' }, is: 'INSUFFICIENT_FUNDS' },
  { name: 'a nonce that is too low, deep in data', ...sent, error: { code: -32603, message: 'no', data: { message: 'Nonce too low' } }, is: 'NONCE_EXPIRED' },
  { name: 'a transaction that is known', ...sent, error: { code: -32000, message: 'already known' }, is: 'UNKNOWN_ERROR' },
  {
    name: 'a replacement, as geth says it',
    ...sent,
    error: { code: -32000, message: 'replacement transaction underpriced' },
    is: 'REPLACEMENT_UNDERPRICED',
  },
  {
    name: 'funds that do not suffice for an estimate',
    method: 'eth_estimateGas',
    params: [transaction],
    error: { code: -32000, message: 'insufficient funds for transfer' },
    is: 'INSUFFICIENT_FUNDS',
    has: { transaction },
  },
  {
    name: 'a contract that reverts with the words of a node',
    method: 'eth_estimateGas',
    params: [transaction],
    error: { code: 3, message: 'execution reverted: insufficient funds', data: errorData('Error', ['insufficient funds']) },
    is: 'CALL_EXCEPTION',
    has: { reason: 'insufficient funds', action: 'estimateGas' },
  },
  {
    name: 'a nonce that is too low for an estimate',
    method: 'eth_estimateGas',
    params: [transaction],
    error: { code: -32000, message: 'nonce too low' },
    is: 'NONCE_EXPIRED',
  },
  {
    name: 'a revert with -32000 and data',
    method: 'eth_call',
    params: ofCall,
    error: { code: -32000, message: 'execution reverted', data: custom.data },
    is: 'CALL_EXCEPTION',
    has: { data: custom.data },
  },
  {
    name: 'a revert whose data is deep in data',
    method: 'eth_call',
    params: ofCall,
    error: { code: -32603, message: 'Internal error', data: { originalError: { message: 'execution reverted', data: reason.data } } },
    is: 'CALL_EXCEPTION',
    has: reason,
  },
  {
    name: 'a revert whose data is JSON in a string',
    method: 'eth_call',
    params: ofCall,
    error: { code: -32603, message: 'no', data: JSON.stringify({ message: 'VM reverted', data: reason.data }) },
    is: 'CALL_EXCEPTION',
    has: reason,
  },
  {
    name: 'an unknown method, as geth says it',
    method: 'eth_nope',
    error: { code: -32601, message: 'the method eth_nope does not exist/is not available' },
    is: 'UNSUPPORTED_OPERATION',
    has: { operation: 'eth_nope', shortMessage: 'unsupported operation' },
  },
  {
    name: 'a method that is not allowed, said in `details`',
    method: 'eth_nope',
    error: { code: -32600, message: 'no', details: 'Unauthorized method: eth_nope' },
    is: 'UNSUPPORTED_OPERATION',
    has: { operation: 'eth_nope' },
  },
  { name: 'a rate limit with status 200', method: 'eth_gasPrice', error: { code: -32005, message: 'limit exceeded' }, is: 'UNKNOWN_ERROR' },
  { name: 'a state that was pruned', method: 'eth_getBalance', error: { code: -32000, message: 'missing trie node 0xab' }, is: 'UNKNOWN_ERROR' },
  { name: 'an unknown code with data', method: 'eth_x', error: { code: 17, message: 'out of luck', data: { why: ['so'] } }, is: 'UNKNOWN_ERROR' },
  { name: 'a bare string', method: 'eth_x', error: 'out of luck', is: 'UNKNOWN_ERROR', better: words('out of luck', 'out of luck') },
  { name: 'no code', method: 'eth_x', error: { message: 'out of luck' }, is: 'UNKNOWN_ERROR', better: words({ message: 'out of luck' }, 'out of luck') },
]
