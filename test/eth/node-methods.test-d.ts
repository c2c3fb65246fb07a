import { expectTypeOf, test } from 'vitest'
import type {
  AccountAccess,
  Address,
  AnyTrace,
  BlockTrace,
  CallFrame,
  CallTraceOptions,
  Capabilities,
  Client,
  FilledTransaction,
  Hash,
  Hex,
  Log,
  MethodName,
  MethodResult,
  NodeConfig,
  PoolContent,
  PoolContentFrom,
  PoolInspection,
  PoolStatus,
  Prestate,
  PrestateDiff,
  Receipt,
  SelectorCounts,
  ServiceMethodName,
  SimulatedBlock,
  StructTrace,
  SyncStatus,
  Trace,
  TraceOptions,
  TraceResults,
} from '../../src/index.ts'

declare const client: Client
declare const address: Address
declare const hash: Hash

test('each row has its result', () => {
  expectTypeOf(client.call('eth_accounts')).toEqualTypeOf<Promise<Address[]>>()
  expectTypeOf(client.call('eth_baseFee')).toEqualTypeOf<Promise<bigint | null>>()
  expectTypeOf(client.call('eth_blobBaseFee')).toEqualTypeOf<Promise<bigint | null>>()
  expectTypeOf(client.call('eth_capabilities')).toEqualTypeOf<Promise<Capabilities>>()
  expectTypeOf(client.call('eth_config')).toEqualTypeOf<Promise<NodeConfig>>()
  expectTypeOf(client.call('eth_fillTransaction', { to: address })).toEqualTypeOf<Promise<FilledTransaction>>()
  expectTypeOf(client.call('eth_getBlockAccessList', 'latest')).toEqualTypeOf<Promise<AccountAccess[] | null>>()
  expectTypeOf(client.call('eth_getFilterChanges', '0x1')).toEqualTypeOf<Promise<(Log | Hash)[]>>()
  expectTypeOf(client.call('eth_getFilterLogs', '0x1')).toEqualTypeOf<Promise<Log[]>>()
  expectTypeOf(client.call('eth_getStorageValues', { [address]: [0n] })).toEqualTypeOf<Promise<Record<Address, Hex[]>>>()
  expectTypeOf(client.call('eth_newBlockFilter')).toEqualTypeOf<Promise<Hex>>()
  expectTypeOf(client.call('eth_newFilter', { fromBlock: 1n })).toEqualTypeOf<Promise<Hex>>()
  expectTypeOf(client.call('eth_newPendingTransactionFilter')).toEqualTypeOf<Promise<Hex>>()
  expectTypeOf(client.call('eth_sendRawTransactionSync', '0x02')).toEqualTypeOf<Promise<Receipt>>()
  expectTypeOf(client.call('eth_sendRawTransactionSync', '0x02', 5000)).toEqualTypeOf<Promise<Receipt>>()
  expectTypeOf(client.call('eth_sendRawTransactionSync', '0x02', '0x1388')).toEqualTypeOf<Promise<Receipt>>()
  expectTypeOf(client.call('eth_simulateV1', { blockStateCalls: [{ calls: [{ to: address }] }] })).toEqualTypeOf<Promise<SimulatedBlock[]>>()
  expectTypeOf(client.call('eth_syncing')).toEqualTypeOf<Promise<SyncStatus | false>>()
  expectTypeOf(client.call('eth_uninstallFilter', '0x1')).toEqualTypeOf<Promise<boolean>>()
  expectTypeOf(client.call('net_listening')).toEqualTypeOf<Promise<boolean>>()
  expectTypeOf(client.call('net_version')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(client.call('rpc_modules')).toEqualTypeOf<Promise<Record<string, string>>>()
  expectTypeOf(client.call('web3_clientVersion')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(client.call('txpool_content')).toEqualTypeOf<Promise<PoolContent>>()
  expectTypeOf(client.call('txpool_contentFrom', address)).toEqualTypeOf<Promise<PoolContentFrom>>()
  expectTypeOf(client.call('txpool_inspect')).toEqualTypeOf<Promise<PoolInspection>>()
  expectTypeOf(client.call('txpool_status')).toEqualTypeOf<Promise<PoolStatus>>()
  expectTypeOf(client.call('debug_getRawBlock', 1n)).toEqualTypeOf<Promise<Hex | null>>()
  expectTypeOf(client.call('debug_getRawHeader', hash)).toEqualTypeOf<Promise<Hex | null>>()
  expectTypeOf(client.call('debug_getRawReceipts', 'latest')).toEqualTypeOf<Promise<Hex[] | null>>()
  expectTypeOf(client.call('debug_getRawTransaction', hash)).toEqualTypeOf<Promise<Hex | null>>()
  expectTypeOf(client.call('debug_traceBlockByHash', hash)).toEqualTypeOf<Promise<BlockTrace<StructTrace>[]>>()
  expectTypeOf(client.call('debug_traceBlockByNumber', 1n)).toEqualTypeOf<Promise<BlockTrace<StructTrace>[]>>()
  expectTypeOf(client.call('debug_traceCall', { to: address })).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('debug_traceCallMany', [], {})).toEqualTypeOf<Promise<StructTrace[][]>>()
  expectTypeOf(client.call('debug_traceTransaction', hash)).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('trace_block', 1n)).toEqualTypeOf<Promise<Trace[] | null>>()
  expectTypeOf(client.call('trace_call', { to: address }, ['trace'])).toEqualTypeOf<Promise<TraceResults>>()
  expectTypeOf(client.call('trace_callMany', [[{ to: address }, ['trace']]])).toEqualTypeOf<Promise<TraceResults[]>>()
  expectTypeOf(client.call('trace_filter', { fromBlock: 1n })).toEqualTypeOf<Promise<Trace[]>>()
  expectTypeOf(client.call('trace_get', hash, [0])).toEqualTypeOf<Promise<Trace | null>>()
  expectTypeOf(client.call('trace_replayBlockTransactions', 1n, ['vmTrace'])).toEqualTypeOf<Promise<TraceResults[] | null>>()
  expectTypeOf(client.call('trace_replayTransaction', hash, ['stateDiff'])).toEqualTypeOf<Promise<TraceResults | null>>()
  expectTypeOf(client.call('trace_transaction', hash)).toEqualTypeOf<Promise<Trace[] | null>>()
})

test('the rows are these, and no other', () => {
  type Row =
    | 'eth_accounts'
    | 'eth_baseFee'
    | 'eth_blobBaseFee'
    | 'eth_capabilities'
    | 'eth_config'
    | 'eth_fillTransaction'
    | 'eth_getBlockAccessList'
    | 'eth_getFilterChanges'
    | 'eth_getFilterLogs'
    | 'eth_getStorageValues'
    | 'eth_newBlockFilter'
    | 'eth_newFilter'
    | 'eth_newPendingTransactionFilter'
    | 'eth_sendRawTransactionSync'
    | 'eth_simulateV1'
    | 'eth_syncing'
    | 'eth_uninstallFilter'
    | 'net_listening'
    | 'net_version'
    | 'rpc_modules'
    | 'web3_clientVersion'
    | `txpool_${'content' | 'contentFrom' | 'inspect' | 'status'}`
    | `debug_getRaw${'Block' | 'Header' | 'Receipts' | 'Transaction'}`
    | `debug_trace${'BlockByHash' | 'BlockByNumber' | 'Call' | 'CallMany' | 'Transaction'}`
    | `trace_${'block' | 'call' | 'callMany' | 'filter' | 'get' | 'replayBlockTransactions' | 'replayTransaction' | 'transaction'}`
  expectTypeOf<MethodName>().toEqualTypeOf<ServiceMethodName | Row>()
})

test('a trace has the result of its tracer', () => {
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'callTracer' })).toEqualTypeOf<Promise<CallFrame>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true }, timeout: '10s' })).toEqualTypeOf<
    Promise<CallFrame>
  >()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'prestateTracer' })).toEqualTypeOf<Promise<Prestate>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: false } })).toEqualTypeOf<Promise<Prestate>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } })).toEqualTypeOf<
    Promise<PrestateDiff>
  >()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: '4byteTracer' })).toEqualTypeOf<Promise<SelectorCounts>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'flatCallTracer' })).toEqualTypeOf<Promise<Trace[]>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: 'muxTracer' })).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { tracer: '' })).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, {})).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, null)).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, { enableMemory: true })).toEqualTypeOf<Promise<StructTrace>>()
  expectTypeOf(client.call('debug_traceBlockByHash', hash, { tracer: 'callTracer' })).toEqualTypeOf<Promise<BlockTrace<CallFrame>[]>>()
  expectTypeOf(client.call('debug_traceBlockByNumber', 'latest', { tracer: 'flatCallTracer' })).toEqualTypeOf<Promise<BlockTrace<Trace[]>[]>>()
  expectTypeOf(client.call('debug_traceCall', { to: address }, 'latest', { tracer: 'callTracer', txIndex: 3 })).toEqualTypeOf<Promise<CallFrame>>()
  expectTypeOf(client.call('debug_traceCall', { to: address }, null, { tracer: 'callTracer' })).toEqualTypeOf<Promise<CallFrame>>()
  expectTypeOf(client.call('debug_traceCallMany', [], {}, { tracer: 'callTracer' })).toEqualTypeOf<Promise<CallFrame[][]>>()
  expectTypeOf<MethodResult<'debug_traceTransaction'>>().toEqualTypeOf<AnyTrace>()
})

test('a tracer that is known only at run time leaves the result unknown', () => {
  const options: TraceOptions = {}
  const callOptions: CallTraceOptions = {}
  const either = { tracer: 'callTracer' } as { tracer: 'callTracer' | '4byteTracer' }
  expectTypeOf(client.call('debug_traceTransaction', hash, options)).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(client.call('debug_traceCall', { to: address }, 'latest', callOptions)).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(client.call('debug_traceTransaction', hash, either)).toEqualTypeOf<Promise<CallFrame | SelectorCounts>>()
})

test('a trace is told by its type', async () => {
  for (const trace of (await client.call('trace_block', 1n)) ?? []) {
    if (trace.type === 'call') expectTypeOf(trace.action.callType).toEqualTypeOf<string>()
    if (trace.type === 'create') expectTypeOf(trace.result?.address).toEqualTypeOf<Address | undefined>()
    if (trace.type === 'suicide') expectTypeOf(trace.action.balance).toEqualTypeOf<bigint>()
    if (trace.type === 'reward') expectTypeOf(trace.action.author).toEqualTypeOf<Address>()
  }
})

test('a call frame has amounts as bigints, and its calls', async () => {
  const frame = await client.call('debug_traceTransaction', hash, { tracer: 'callTracer' })
  expectTypeOf(frame.gasUsed).toEqualTypeOf<bigint>()
  expectTypeOf(frame.calls).toEqualTypeOf<CallFrame[] | undefined>()
  expectTypeOf(frame.logs?.[0]?.index).toEqualTypeOf<number | undefined>()
})

test('wrong arguments do not compile', () => {
  // @ts-expect-error options are an object
  client.call('debug_traceTransaction', hash, 'callTracer')
  // @ts-expect-error a misspelt option
  client.call('debug_traceTransaction', hash, { trcaer: 'callTracer' })
  // @ts-expect-error no such kind
  client.call('trace_replayTransaction', hash, ['traces'])
  // @ts-expect-error a misspelt field of a filter
  client.call('trace_filter', { fromAdress: [address] })
  // @ts-expect-error a state method needs no `true`
  client.call('eth_syncing', true)
})
