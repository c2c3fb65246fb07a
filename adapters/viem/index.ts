/** hexline/viem: a viem transport on hexline, and bulk actions for a viem client. */
export { type BulkActions, bulkActions, type GetBlocksParameters, type GetBlocksReturnType } from './bulk/bulk-actions.ts'
export type { FollowLogsParameters, FollowParameters, FollowReturnType } from './bulk/follow.ts'
export type { GetLogsInRange, LogRangeOptions, LogsInRange } from './bulk/logs-in-range.ts'
export { chainFor } from './chain-for.ts'
export type { HexlineTransportConfig } from './config.ts'
export type { Subscribe, SubscribeParameters, SubscribeReturnType } from './live/subscribe.ts'
export { type HexlineTransport, type HexlineWebSocketTransport, hexline } from './transport.ts'
