import { type DatasetReport, verifyDataset } from 'hexline/bulk'
import { count } from './screen.ts'

/** The arguments of the commands that export the chain, and that ask what was exported. */
export const exportArgs = (url: string, dir: string): string[] => [
  ...['export', '--rpc', url, '--from', '0', '--to', 'latest', '--out', dir],
  ...['--tables', 'blocks,transactions,receipts,logs,withdrawals'],
]
export const sqlArgs = (dir: string): string[] => [
  'sql',
  dir,
  `select address as token, count(*) as transfers
    from logs group by token order by transfers desc limit 3`,
]

/**
 * Verifies the folder of tables without a node, and says what was proven, in at most 80 columns.
 * Throws unless each block was.
 */
export async function prove(dir: string, blocks: number, signal: AbortSignal): Promise<string> {
  const startedAt = performance.now()
  const report = await verifyDataset(dir, { signal })
  return proofOf(report, blocks, (performance.now() - startedAt) / 1000)
}

/** What a reader of the folder knows after `seconds` of verification. */
export function proofOf({ checks, rows, files, lastHash }: DatasetReport, blocks: number, seconds: number): string {
  for (const check of ['link', 'header', 'transactionsRoot', 'receiptsRoot', 'withdrawalsRoot'])
    if (checks[check] !== blocks) throw new Error(`${check} was proven of ${checks[check] ?? 0} blocks instead of ${blocks}`)
  return `${count(files)} files verified in ${seconds.toFixed(1)} s without the node: the hashes and roots of
${count(blocks)} blocks, computed anew from ${count(rows)} rows. All of it follows from the
last hash, ${lastHash}`
}
