import { ALREADY_KNOWN } from '../send-raw-transaction.ts'
import { logRangeRows } from './log-range.ts'
import type { FailureRow } from './rule.ts'

/**
 * The messages of nodes and providers. They come before codes, which are ambiguous: -32005 is a
 * rate limit on some nodes, a range limit on others and a batch limit on yet others; -32007, -32010
 * and -32015 mean one thing to a node and another to a gateway.
 */
export const messageRows: readonly FailureRow[] = [
  // The EVM and the transaction pool. First, since a contract can revert with any message.
  { kind: 'execution', code: 3, source: 'geth: revert with data' },
  {
    kind: 'execution',
    message: /^(?:Error: )?(?:VM Exception|VM execution error|execution reverted|Reverted|revert\b|EVM error)/i,
    source: 'geth, Erigon, Nethermind, OpenEthereum, anvil, Hardhat, Frontier',
  },
  {
    kind: 'execution',
    message: /insufficient funds for|nonce(?: is)? too (?:low|high)|underpriced|intrinsic gas|exceeds block gas limit|gas required exceeds/i,
    source: 'geth txpool and state transition; Besu, Erigon, anvil and reth word them alike',
  },
  {
    kind: 'execution',
    message: /^(?:Upfront cost exceeds account balance|Sender account not authorized|(?:blob )?gas price below|Invalid signature$|Insufficient funds\b)/i,
    source: 'Besu (-32002, -32004, -32007, -32009), OpenEthereum: codes that mean other things elsewhere',
  },
  {
    kind: 'execution',
    method: /^eth_send/,
    message: ALREADY_KNOWN,
    source: 'geth, Besu, Erigon, Nethermind, anvil, OpenEthereum, Cosmos chains, Moonbeam, zkSync',
  },

  ...logRangeRows,

  // Another node, or another plan, has the data. The key is valid, and waiting does not help.
  {
    kind: 'pruned',
    message:
      /pruned history|not available due to pruning|history has been pruned|state at block #?\d{1,30} is pruned|archive (?:node|state|requests?|data|access)|archive, debug and trace requests|older than 128 blocks|maximum proof window|exceeds max-recreate-state-depth|requested block is too old/i,
    source: 'geth and reth (4444), Erigon, Nitro, publicnode, Infura and Chainstack (-32002), Alchemy (-32600)',
  },

  // This key will get no answer.
  {
    kind: 'quota',
    message:
      /(?:daily|monthly) (?:request |capacity |relay |credit |usage )?(?:count|limit|quota|capacity)|quota (?:has been )?(?:exceeded|exhausted|reached)|(?:exceeded|reached) the quota|out of (?:credits|cu\b)|reached (?:your|the) free tier|call limit has been reached/i,
    source: 'Infura, Alchemy, QuickNode (-32003), 1RPC (-32001), Tenderly (-32004), BlockVision (-32607), thirdweb',
  },
  {
    kind: 'auth',
    message:
      /must be authenticated|must authenticate|invalid (?:project id|api[- ]?key|access token|auth\w{0,20} token|jwt)|api[- ]?key (?:is )?(?:invalid|missing|disabled|not (?:found|allowed|valid))|unauthori[sz]ed|(?:missing|no) api[- ]?key|project id required|rejected due to project id|does not have access to this network/i,
    source: 'Alchemy, Infura (-32002), Ankr, dRPC, Besu (-40100)',
  },

  // The POST was too large.
  {
    kind: 'batch-too-large',
    message:
      /batch (?:request |size |request length )?(?:was |is )?too (?:large|big|long)|batch (?:size )?limit (?:[\d,]{1,30} )?exceeded|batch of more than|too many (?:rpc )?(?:requests|calls|items) in (?:a |the |one )?batch|max(?:imum)?[- ]batch[- ]size|batch request amount [\d,]{1,30} exceeds/i,
    source: 'geth (-32600), Erigon (-32000), Nethermind and Besu (-32005), reth (-32010), proxyd (-32014), dRPC (31), Hedera (-32203), Acala, TRON (-32007)',
  },
  {
    kind: 'batch-too-large',
    message:
      /batch(?:ed|es|ing)? (?:requests? )?(?:is |are )?(?:not (?:supported|allowed|enabled|available)|disabled)|in batch triggered rate limit|not permitted as part of batch/i,
    source: 'reth (-32005), Hedera (-32202; -32007 and BSC nodes, -32005: single calls of the method pass)',
  },
  {
    kind: 'response-too-large',
    message:
      /response (?:size )?(?:is |was )?too (?:large|big)|response size (?:limit|exceed|should not|is larger than)|max(?:imum)? response size|MaxBatchResponseBodySize|exceeding --rpc\.returndata\.limit/i,
    source: 'geth (-32003), reth (-32008, -32011), Nethermind (-32005), proxyd (-32020), Alchemy (-32600), Erigon, 1RPC',
  },
  {
    kind: 'request-too-large',
    message: /request (?:entity |body |content )?(?:is )?too (?:large|big)|content length too large|payload too large|body too large/i,
    source: 'geth (HTTP 413), reth (-32007), proxyd (-32021), nginx',
  },

  // A later attempt may pass.
  {
    kind: 'rate-limit',
    message:
      /too many (?:requests?\b|connections)|rate[- ]?limit|request rate exceeded|(?:request|call)s? (?:limit|rate) (?:reached|exceeded|exhausted)|exceeded (?:the )?request limit|rps limit|maximum api usage limit|throttl|being limited|error code: 1015\b/i,
    source:
      'Infura and NodeReal (-32005), QuickNode (-32007), Chainstack, Ankr (-32090), OnFinality (-32029), proxyd (-32016), Hedera (-32605), Cloudflare (1015)',
  },
  {
    kind: 'rate-limit',
    message:
      /(?:compute units|requests?|calls?) per second capacity|concurrent requests capacity|number of concurrent requests|allowed throughput|limited to [\d,]{1,30} ?(?:requests?|calls?)? ?(?:\/|per) ?(?:s|sec|second|min|minute)\b/i,
    source: 'Alchemy (429), Infura (429), QuickNode (-32009, -32012)',
  },
  {
    kind: 'overloaded',
    message:
      /\boverloaded\b|too busy|server is busy|over capacity|temporarily at capacity|under too much load|no (?:backend is currently healthy|backends available)|backend (?:offline|is currently not healthy)|no available (?:nodes?|upstreams?)/i,
    source: 'Erigon and Nethermind (-32005, HTTP 503), reth (-32009), proxyd (-32010 to -32012, -32018), gateways',
  },
  { kind: 'server', message: /can't route your request|temporary internal error|method handler crashed/i, source: 'dRPC (5, 12: another call may pass), geth' },

  // This node does not have the block or state, or does not have it yet.
  {
    kind: 'lagging',
    message:
      /header (?:for hash )?not found|missing trie node|block (?:\S{1,100} )?not found|unknown block|could not find block|unsupported block number|block(?: \w{1,100})? is not available|not currently canonical|BlockOutOfRange|block (?:number )?(?:is )?out of range|after last accepted block|beyond current head/i,
    source: 'geth, Erigon, Nethermind, Besu (-39001), reth (-32001), dRPC (26), proxyd (-32019), Nitro, Sei, anvil, Avalanche',
  },
  {
    kind: 'lagging',
    message: /failed to get logs for block|receipts length mismatch/i,
    source: 'geth: the receipts of a block are not there yet, though its header is',
  },
  {
    kind: 'lagging',
    message:
      /state (?:\S{1,100} )?(?:is )?(?:not (?:available|found)|unavailable)|no state available|missing state|unknown state\b|transaction indexing is in progress|initial sync is still in progress/i,
    source: 'geth, Nethermind (-32002), Besu (-32000, -32008), dRPC (27)',
  },

  {
    kind: 'timeout',
    message:
      /(?:request|execution|query|context|gateway) (?:deadline exceeded|timed? ?out|timeout)|deadline exceeded|context canceled|timeout expired|execution aborted \(timeout/i,
    source: 'geth (-32002), Erigon, Besu (-32603), proxyd (-32015), dRPC (30)',
  },
  {
    kind: 'unsupported',
    message:
      /method (?:\S{1,100} )?(?:does not exist|not (?:found|supported|enabled)|is not (?:available|supported|enabled|allowed|whitelisted|included))|method \S{1,100} (?:is )?(?:not allowed|disabled)|unsupported method|^\w{1,100} is not available on the \S{1,100} tier|namespace \S{1,100} (?:for \S{1,300} but )?is disabled|does not exist\/is not available|chain is not available on|not included in your current plan|^not (?:yet )?implemented\.?$/i,
    source: 'geth, Erigon, Nethermind (-32600), Besu (-32604), Alchemy (-32600), proxyd (HTTP 403), dRPC (35), gateways; anvil (-32603)',
  },
]
