/** hexline/viem: a viem transport on hexline, and bulk actions for a viem client. */
export { type BulkActions, bulkActions, type GetBlocksParameters, type GetBlocksReturnType } from './bulk-actions.ts'
export { chainFor } from './chain-for.ts'
export type { HexlineTransportConfig } from './config.ts'
export type { FollowLogsParameters, FollowParameters, FollowReturnType } from './follow.ts'
export type { GetLogsInRange, LogRangeOptions, LogsInRange } from './logs-in-range.ts'
export type { Subscribe, SubscribeParameters, SubscribeReturnType } from './subscribe.ts'
export { type HexlineTransport, type HexlineWebSocketTransport, hexline } from './transport.ts'
