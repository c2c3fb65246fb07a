/** hexline: a typed JSON-RPC engine for Ethereum nodes. */
export type { Client, Request } from './client/client.ts'
export { createClient } from './client/create-client.ts'
export type { Endpoint } from './client/endpoint.ts'
export type { CallRate, CallSettings, ClientOptions, UnitRate } from './client/options.ts'
export { type RetryOptions, retry } from './client/retry.ts'
export type { LogSubscription, PendingSubscription, ReceiptSubscription, SubscribeOptions, Subscription, SubscriptionItem } from './client/subscribe.ts'
export {
  type AnswerKind,
  type AnyHexlineError,
  ClosedError,
  CodecError,
  type ErrorContext,
  type ErrorKind,
  HexlineError,
  HttpError,
  IntegrityError,
  isHexlineError,
  LimitError,
  MalformedReplyError,
  NetworkError,
  OptionError,
  RpcError,
  ServiceError,
  TimeoutError,
  TransactionLostError,
} from './errors.ts'
export { type ChainSlug, chains, type NodeAddress, nodeUrl } from './eth/chains.ts'
export type { Address, Hash, Hex } from './eth/codec/hex.ts'
export { decodeNumber, decodeQuantity, encodeQuantity, type Quantity } from './eth/codec/quantity.ts'
export { classify } from './eth/errors/classify.ts'
export { decodeResult, encodeArguments, type MethodName, type MethodParams, type MethodResult, type ServiceMethodName } from './eth/methods.ts'
export type {
  AccountAccess,
  Capabilities,
  FilledTransaction,
  ForkConfig,
  NodeConfig,
  NodeResource,
  PoolContent,
  PoolContentFrom,
  PoolInspection,
  PoolStatus,
  SimulatedBlock,
  SimulatedCall,
  SyncNotice,
  SyncStatus,
  TransactionsByNonce,
} from './eth/node-objects.ts'
export type { CallTraceOptions, Simulation, TraceFilter, TraceKind, TraceOptions } from './eth/node-params.ts'
export type {
  AccessListItem,
  AccessListResult,
  Authorization,
  Block,
  BlockAt,
  FeeHistory,
  Header,
  Log,
  MinedLog,
  MinedTransaction,
  PendingBlock,
  Proof,
  Receipt,
  StorageProof,
  Transaction,
  Uncle,
  Withdrawal,
} from './eth/objects.ts'
export type { BlockId, BlockNumber, BlockTag, CallObject, Json, LogFilter } from './eth/params.ts'
export type {
  AccountDiff,
  CallTrace,
  Change,
  CreateTrace,
  RewardTrace,
  SuicideTrace,
  Trace,
  TraceResults,
  VmTrace,
} from './eth/parity-traces.ts'
export { transactionHash } from './eth/send-raw-transaction.ts'
export type {
  AccountState,
  AnyTrace,
  BlockTrace,
  CallFrame,
  CallLog,
  Prestate,
  PrestateDiff,
  SelectorCounts,
  StructLog,
  StructTrace,
  TraceOf,
} from './eth/trace-objects.ts'
export { type WaitForReceiptOptions, waitForReceipt } from './follow/wait-for-receipt.ts'
export {
  type EndpointHistory,
  type EndpointReport,
  type Figure,
  type OldState,
  type ProbeOptions,
  type ProbeProgress,
  type ProbeReport,
  probe,
  type Support,
  type Tag,
} from './probe/index.ts'
export type { Call, Layer, Outcome, Post, Reply, Send } from './rpc/call.ts'
export type { CallEvent, CallStartEvent, Events, PostEvent, PostStartEvent, RetryEvent, RouteEvent, ThrottleEvent } from './rpc/events.ts'
export type { Classify, Failure } from './rpc/post/reply-errors.ts'
export type { Recovery } from './rpc/recovery.ts'
export { replyOf } from './rpc/reply.ts'
