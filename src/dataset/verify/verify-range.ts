import { isSame } from '../../verify/mismatch.ts'
import type { SenderOf } from '../../verify/sender.ts'
import { falsehood } from '../falsehood.ts'
import { type DatasetHeader, MANIFEST, type RangeEntry } from '../folder/manifest.ts'
import { numberColumn } from '../tables.ts'
import { BlockChecker } from './check-block.ts'
import type { CheckCounts } from './check-counts.ts'
import { checkDigest } from './check-files.ts'
import { type BlockFacts, checkPlaces } from './check-places.ts'
import { type FileNames, fileNamesOf, joinBlocks, type StoredBlock } from './join-blocks.ts'
import { isPlaced } from './table-rows.ts'

/** What the verification of a range needs in addition to the range. */
export interface RangeJob {
  readonly dir: string
  readonly header: DatasetHeader
  readonly senderOf: SenderOf | undefined
  readonly signal: AbortSignal | undefined
  /** Numbers of the blocks whose rows are wanted. */
  readonly chosen: ReadonlySet<number>
  /** Called with each block that was verified, and its rows if it is chosen; awaited. */
  readonly onBlock: (number: bigint, chosen: ChosenBlock | undefined) => Promise<void> | void
}

/** A block that was verified. Plain data. */
export interface ChosenBlock {
  /** Undefined where no row has it. */
  readonly hash: string | undefined
  readonly rows: StoredBlock
}

/** Verifies the files of a range, and counts what was proven. Throws `IntegrityError`. */
export async function verifyRange({ dir, header, senderOf, signal, chosen, onBlock }: RangeJob, range: RangeEntry, counts: CheckCounts): Promise<void> {
  for (const file of range.files) await checkDigest(dir, file, signal)
  const files = fileNamesOf(header, range)
  const checker = new BlockChecker(header, senderOf)
  const isLinked = ['number', 'hash', 'parentHash'].every((name) => checker.stores(`blocks.${name}`))
  const unplaced = header.tables.filter((table) => !isPlaced(header, table)).map((table) => `${table}.${numberColumn(table)}`)
  let parent: string | undefined = range.parentHash
  for await (const block of joinBlocks(dir, header, range, { onMisfit: (column) => counts.addUncovered(column) })) {
    signal?.throwIfAborted()
    const facts = checkPlaces(block, files, header.chainId)
    checkLink(block.number, facts, parent, range, files)
    parent = facts.hash
    const result = checker.check(block, facts, files)
    counts.prove('files')
    if (unplaced.length === 0) counts.prove('rows')
    else counts.skip('rows', `not stored: ${unplaced.join(', ')}`)
    if (isLinked) counts.prove('link')
    else counts.skip('link', 'the blocks are not stored with number, hash and parentHash')
    counts.add(result)
    const waiting = onBlock(block.number, chosen.has(Number(block.number)) ? { hash: facts.hash, rows: block } : undefined)
    if (waiting !== undefined) await waiting
  }
}

/** Checks that a block names the one before it as its parent, and the hashes of the manifest. */
function checkLink(number: bigint, { hash, parentHash }: BlockFacts, parent: string | undefined, range: RangeEntry, files: FileNames): void {
  const place = { file: files.blocks ?? (Object.values(files)[0] as string), block: number }
  if (parent !== undefined && parentHash !== undefined && !isSame(parentHash, parent)) throw falsehood(place, 'parentHash', parent, parentHash)
  if (hash === undefined) return
  for (const [end, name] of [
    [range.from, 'firstHash'],
    [range.to, 'lastHash'],
  ] as const)
    if (number === BigInt(end) && !isSame(hash, range[name])) throw falsehood(place, 'hash', range[name], hash, `; expected is ${name} of ${MANIFEST}`)
}
