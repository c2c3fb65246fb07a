import { ALREADY_KNOWN } from '../send-raw-transaction.ts'
import { logRangeRows } from './log-range.ts'
import type { FailureRow } from './rule.ts'

/**
 * The messages of nodes and providers. They come before codes, which are ambiguous: -32005 is a
 * rate limit on some nodes, a range limit on others and a batch limit on yet others; -32007, -32010
 * and -32015 mean one thing to a node and another to a gateway.
 */
export const messageRows: readonly FailureRow[] = [
  // Before reverts, whose code it borrows: a revert does not say this alone.
  { kind: 'lagging', code: 3, message: /^unknown block$/i, source: 'Alchemy, of a block near the head' },

  // The EVM and the transaction pool. First, since a contract can revert with any message.
  { kind: 'execution', code: 3, source: 'geth: revert with data' },
  {
    kind: 'execution',
    message: /^(?:Error: )?(?:VM Exception|VM execution error|Reverted|revert\b|EVM error)|\bexecution reverted\b|\bmessage execution failed \(exit=/i,
    source: 'geth, Erigon, Nethermind, OpenEthereum, anvil, Hardhat, Frontier, Lotus (11); after other words: IoTeX, chains of the Cosmos SDK',
  },
  {
    kind: 'execution',
    message:
      /insufficient (?:funds for|balance for transfer|fee\b)|not enough funds for gas|would cause overdraft|nonce(?: is)? too (?:low|high)|invalid transaction nonce|the same nonce in the tx pool|underpriced|gas ?price (?:is )?(?:too low|less than)|intrinsic gas|not enough (?:gas for transaction|step counters)|exceeds (?:block gas limit|the configured cap)|gas required exceeds|oversized data|\btx too large|\binvalid sender\b|invalid chain id for signer|failed precheck with status (?!BUSY\b)|failed to (?:pay the fee to the operator|serialize transaction)|transaction type not supported|tries to replace pending|\bdelegated accounts|replay-protected|transaction to pool failed|line count for module/i,
    source: 'geth txpool and state transition; Besu, Erigon, anvil and reth word them alike; Arbitrum, Celo, Klaytn, Linea, Metis, Moonbeam, zkEVM, zkSync',
  },
  {
    kind: 'execution',
    message:
      /^(?:Upfront cost exceeds account balance|Sender account not authorized|(?:blob )?gas price below|Invalid signature$|(?:: )?Insufficient funds\b)/i,
    source: 'Besu (-32002, -32004, -32007, -32009), OpenEthereum: codes that mean other things elsewhere',
  },
  {
    kind: 'execution',
    method: /^eth_send/,
    message: ALREADY_KNOWN,
    source: 'geth, Besu, Erigon, Nethermind, anvil, OpenEthereum, Cosmos chains, Moonbeam, zkSync',
  },

  ...logRangeRows,

  // Before old state, which the plan also lacks: these methods are refused for any block.
  {
    kind: 'unsupported',
    method: /^(?:debug|trace)_/,
    message: /archiv(?:e|al), debug,? (?:and|or) trace (?:requests|data)/i,
    source: 'Chainstack (-32002)',
  },

  // Another node, or another plan, has the data. The key is valid, and waiting does not help.
  {
    kind: 'pruned',
    message:
      /pruned history|not available due to pruning|\b(?:is|has been|already) pruned\b|already discarded|data before \S{1,100} is not available|lowest height is|no historical rpc is available|archiv(?:e|al),? (?:node|state|requests?|data|access|debug)|not maintain archive|older than 128 blocks|maximum proof window|lookbacks of more than|beyond max lookback|exceeds max-recreate-state-depth|requested block is too old/i,
    source:
      'geth and reth (4444), Erigon, Nitro, op-geth, publicnode, Confura, Lotus, Infura and Chainstack (-32002), Alchemy (-32600), zkSync (-32602), Moonbeam (-32603), Sei, Sonic, chains of the Cosmos SDK',
  },
  { kind: 'pruned', method: /^eth_getProof$/, message: /\bis limited to a [\d,]{1,30} range/, source: 'QuickNode (-32615): recent blocks' },

  // This key will get no answer.
  {
    kind: 'quota',
    message:
      /(?:daily|monthly) (?:request |capacity |relay |credit |usage )?(?:count|limit|quota|capacity)|quota (?:has been |is )?(?:exceeded|exhausted|reached|used up)|quota of .{1,60} (?:exceeded|exhausted|used up)|credits? (?:are |have been )?exhausted|used up (?:your|the) (?:quota|credits|compute units)|(?:exceeded|reached) the quota|out of (?:credits|cu\b)|user balance exceeded|over spend limit|usage has been consumed|reached (?:your|the) (?:free tier|usage limit)|request cost limit|credit consumption has reached|call limit has been reached/i,
    source:
      'Infura, Alchemy, QuickNode (-32003), 1RPC (-32001), Tenderly (-32004), BlockVision (-32607), Conduit (-32403), dRPC (10), InfStones (-2041), Moralis, thirdweb, ZAN (-32005)',
  },
  {
    kind: 'auth',
    message:
      /must be authenticated|must authenticate|(?:invalid|disabled|deleted) (?:project id|(?:api|rpc)[- ]?key|access token|auth\w{0,20} (?:token|credentials)|jwt)|api[- ]?key (?:is )?(?:invalid|missing|disabled|not (?:found|allowed|valid))|unauthori[sz]ed|(?:missing|no) api[- ]?key|project id required|rejected due to project id|does not have access to this network|\bapp is inactive|not enabled for this app\b|apikey not exist|\b(?:origin|ip)(?: address)? not (?:allowed|[io]n whitelist)|\billegal ip\b|^whitelist limited$|not in project scope/i,
    source:
      'Alchemy, Infura (-32002), Ankr, Conduit (-32401, -32403), dRPC, Besu (-40100), BlockVision (-32606), InfStones (-2021), Kong, ZAN (-32000, -32002)',
  },

  // The POST was too large.
  {
    kind: 'batch-too-large',
    message:
      /batch (?:request |size |request length )?(?:was |is )?too (?:large|big|long)|batch (?:size )?limit (?:[\d,]{1,30} )?exceeded|batch of more than|too many (?:rpc )?(?:requests|calls|items) in (?:a |the |one )?batch|max(?:imum)?[- ]batch[- ](?:request )?size|batch request amount [\d,]{1,30} exceeds/i,
    source:
      'geth (-32600), Erigon (-32000), Nethermind and Besu (-32005), reth (-32010), proxyd and Conduit (-32014), dRPC (31), Hedera (-32203), Acala, TRON (-32007)',
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
      /too many (?:requests?\b|connections)|rate[- ]?limit|request rate exceeded|(?:requests?|calls?|\bcu)(?: per (?:second|minute))? (?:limit|rate) (?:reached|exceeded|exhausted)(?!; method)|exceeded (?:the )?request limit|rps limit|exceeded the allowed rps|request exceeds defined limit|^cu limited|over (?:network traffic|compute unit) limit|maximum api usage limit|throttl|being limited|error code: 1015\b/i,
    source:
      'Infura and NodeReal (-32005), QuickNode (-32007), Chainstack, Ankr (-32090), OnFinality (-32029), proxyd (-32016), Hedera (-32605), Cloudflare (1015), WalletConnect, ZAN (-32003), Arc, MegaETH (-32021, -32022)',
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
      /\boverloaded\b|too busy|precheck with status BUSY\b|server is busy|over capacity|temporarily at capacity|under too much load|no (?:backend is currently healthy|(?:full )?(?:backends?|nodes?|servers?) available)|backend (?:offline|is currently not healthy)|no available (?:nodes?|upstreams?)/i,
    source: 'Erigon and Nethermind (-32005, HTTP 503), reth (-32009), proxyd (-32010 to -32012, -32018), Ankr (-32055), gateways',
  },
  {
    kind: 'server',
    message:
      /can't route your request|temporary internal error|unable to complete request at this time|(?:method handler|middleware) crashed|no suitable peers available|relay attempts exhausted|not a valid json-?rpc response|returned an invalid response|^invalid response: |prevented the request from being fulfilled|no healthy upstream|upstream connect error|invalid (?:response from upstream|upstream response)/i,
    source:
      'dRPC (5, 12: another call may pass), Alchemy (-32001), geth, Pocket (-32050, -31002), Conduit (-32010, -32013), Uniblock (-32503), Tatum (-16500, -16502, -16503), Envoy',
  },

  // This node does not have the block or state, or does not have it yet.
  {
    kind: 'lagging',
    message:
      /header (?:for hash )?not found|missing trie node|block (?:\S{1,100} )?not found|unknown block|could not find block|unsupported block number|block(?: \w{1,100})? is not available|not currently canonical|BlockOutOfRange|block (?:number )?(?:is )?out of range|after last accepted block|beyond current head|body not found for block|blocks specified in filter .{1,60} cannot be found|such an id doesn't exist yet|(?:block|height) \d{1,30} is not yet available|latest block number is \d|upstream not synced|unfinalized data|requested data not available|requested a future epoch|cannot find tipset|invalid block height/i,
    source:
      'geth, Erigon, Nethermind, Besu (-39001), reth (-32001), dRPC (26), proxyd (-32019), eRPC (-32503), Nitro, OpenEthereum, Sei, zkSync, anvil, Hardhat, Avalanche, Arc and Goldsky (-32014), Hyperliquid (-32603), Filecoin',
  },
  {
    kind: 'lagging',
    message: /failed to get logs for block|receipts length mismatch/i,
    source: 'geth: the receipts of a block are not there yet, though its header is',
  },
  {
    kind: 'lagging',
    message:
      /state (?:\S{1,100} )?(?:is )?(?:not (?:available|found)|unavailable)|no state available|missing state|unknown state\b|running with state pruning|failed to load state at height|either been pruned, or is for a future block|histories haven't been fully indexed|transaction indexing is in progress|initial sync is still in progress/i,
    // OpenEthereum and chains of the Cosmos SDK say the same of old blocks and of blocks to come.
    source: 'geth, Nethermind (-32002), Besu (-32000, -32008), dRPC (27), OpenEthereum, chains of the Cosmos SDK',
  },
  { kind: 'lagging', message: /internal error/i, data: /\bis missing from the DB\b/, source: 'Nethermind (-32603, the reason in data)' },

  {
    kind: 'timeout',
    message:
      /(?:request|execution|query|context|gateway|evm|node) (?:deadline exceeded|timed? ?out|timeout)|deadline exceeded|context canceled|timeout expired|execution aborted \(timeout/i,
    source: 'geth (-32002), Erigon, Besu (-32603), proxyd (-32015), dRPC (30)',
  },
  {
    kind: 'unsupported',
    message:
      /method (?:\S{1,100} )?(?:does not exist|not (?:found|supported|enabled)|is not (?:available|supported|enabled|allowed|whitelisted|included))|method \S{1,100} (?:is )?(?:not allowed|disabled)|unsupported method|^\w{1,100} is not available on the \S{1,100} tier|namespace \S{1,100} (?:for \S{1,300} but )?is disabled|does not exist\/is not available|custom tracers are disabled|chain is not available on|not included in your current plan|^not (?:yet )?implemented\.?$/i,
    source: 'geth, Erigon, Nethermind (-32600), Besu (-32604), Alchemy (-32600), proxyd (HTTP 403), dRPC (35), gateways; anvil (-32603)',
  },
]
