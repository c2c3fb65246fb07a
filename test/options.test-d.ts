import { expectTypeOf, test } from 'vitest'
import type { EnqueueOptions, ExportWorkerOptions } from '../adapters/bullmq/index.ts'
import type { HexlineProviderOptions } from '../adapters/ethers/index.ts'
import type { InstrumentOptions } from '../adapters/otel/index.ts'
import type { GetLogsInRange, HexlineTransportConfig } from '../adapters/viem/index.ts'
import type {
  CallObject,
  CallSettings,
  CallTraceOptions,
  ClientOptions,
  LogFilter,
  LogSubscription,
  PendingSubscription,
  ProbeOptions,
  ReceiptSubscription,
  Request,
  RetryOptions,
  Simulation,
  TraceFilter,
  UnitRate,
  WaitForReceiptOptions,
} from '../src/index.ts'
import type {
  ExportDatasetOptions,
  FollowLogs,
  FollowOptions,
  GetBlocksOptions,
  GetLogsOptions,
  MergeDatasetOptions,
  PlanBlocksOptions,
  PlanExportOptions,
  PlanLogsOptions,
  VerifyBlockOptions,
  VerifyDatasetOptions,
} from '../src/index-bulk.ts'
import type { RestOptions } from '../src/rest/index.ts'
import type { SandboxOptions } from '../src/sandbox/index.ts'

/** The names that may be left out. */
type Optional<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]
/** Those of them that may not be there as undefined. */
type Strict<T> = { [K in Optional<T>]: { [Key in K]: undefined } extends Pick<T, K> ? never : K }[Optional<T>]

/* Not those that the type of a result follows from: `'full' | undefined` would make it wrong. */
test('with exactOptionalPropertyTypes, an option may be undefined: most come from a variable', () => {
  expectTypeOf<Strict<ClientOptions>>().toBeNever()
  expectTypeOf<Strict<NonNullable<Exclude<ClientOptions['batch'], false>>>>().toBeNever()
  expectTypeOf<Strict<NonNullable<Exclude<ClientOptions['retry'], false>>>>().toBeNever()
  expectTypeOf<Strict<NonNullable<Exclude<ClientOptions['hedge'], boolean>>>>().toBeNever()
  expectTypeOf<Strict<UnitRate>>().toBeNever()
  expectTypeOf<Strict<RetryOptions>>().toBeNever()
  expectTypeOf<Strict<CallSettings>>().toBeNever()
  expectTypeOf<Strict<Request>>().toBeNever()
  expectTypeOf<Strict<LogSubscription>>().toBeNever()
  expectTypeOf<Strict<PendingSubscription>>().toEqualTypeOf<'full'>()
  expectTypeOf<Strict<ReceiptSubscription>>().toBeNever()
  expectTypeOf<Strict<WaitForReceiptOptions>>().toBeNever()
  expectTypeOf<Strict<ProbeOptions>>().toBeNever()
  expectTypeOf<Strict<GetBlocksOptions>>().toEqualTypeOf<'transactions' | 'receipts'>()
  expectTypeOf<Strict<GetLogsOptions>>().toBeNever()
  expectTypeOf<Strict<FollowOptions>>().toEqualTypeOf<'transactions' | 'receipts' | 'logs'>()
  expectTypeOf<Strict<FollowLogs>>().toBeNever()
  expectTypeOf<Strict<ExportDatasetOptions>>().toBeNever()
  expectTypeOf<Strict<MergeDatasetOptions>>().toBeNever()
  expectTypeOf<Strict<VerifyDatasetOptions>>().toBeNever()
  expectTypeOf<Strict<VerifyBlockOptions>>().toBeNever()
  expectTypeOf<Strict<PlanBlocksOptions>>().toEqualTypeOf<'transactions' | 'receipts'>()
  expectTypeOf<Strict<PlanExportOptions>>().toBeNever()
  expectTypeOf<Strict<PlanLogsOptions>>().toBeNever()
  expectTypeOf<Strict<InstrumentOptions>>().toBeNever()
  expectTypeOf<Strict<EnqueueOptions>>().toBeNever()
  expectTypeOf<Strict<ExportWorkerOptions>>().toBeNever()
  expectTypeOf<Strict<HexlineTransportConfig>>().toBeNever()
  expectTypeOf<Strict<GetLogsInRange>>().toBeNever()
  // The others are ethers' own.
  expectTypeOf<Strict<Pick<HexlineProviderOptions, keyof ClientOptions>>>().toBeNever()
  expectTypeOf<Strict<RestOptions>>().toBeNever()
  expectTypeOf<Strict<SandboxOptions>>().toBeNever()
})

test('and so may the fields of what a call takes', () => {
  expectTypeOf<Strict<CallObject>>().toBeNever()
  expectTypeOf<Strict<LogFilter>>().toBeNever()
  expectTypeOf<Strict<CallTraceOptions>>().toBeNever()
  expectTypeOf<Strict<TraceFilter>>().toBeNever()
  expectTypeOf<Strict<Simulation>>().toBeNever()
})
