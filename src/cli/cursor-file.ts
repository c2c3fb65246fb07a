import { accessSync, constants, fstatSync, ftruncateSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Lock, lockFile } from '../dataset/folder/lock.ts'
import { OptionError } from '../errors.ts'
import { checkCursor, type FollowCursor } from '../follow/cursor.ts'
import { reasonOf } from '../system-error.ts'
import { redactPath } from './output/redact.ts'

/**
 * Where `hexline follow` resumes, in a file that is always whole. What comes next is prepared in a
 * second file before a line is written, and takes the name of the first one when the line is out.
 * Where lines go to a file, its length shows whether a process was killed before or after the line:
 * so no line is missing or comes twice. A pipe does not show that, and the line is written again.
 */
export interface CursorFile {
  /** Undefined where there is none yet. */
  readonly cursor: FollowCursor | undefined
  /** To be called before the line is written. */
  prepare(cursor: FollowCursor, line: Uint8Array): void
  /** The line is out. */
  commit(): void
}

/** What the file holds. */
interface Saved {
  readonly cursor: FollowCursor
  /** The file of lines after this line, and the length of the line in bytes. */
  readonly lines?: { readonly file: string; readonly bytes: number; readonly last: number }
}

/**
 * Takes the file for this process: of two that used it, each would repeat or cut lines of the
 * other. Throws `OptionError` for a file that cannot be written, and an error that names the
 * process which has it.
 */
export async function holdCursorFile(path: string): Promise<Lock> {
  if (path === '') throw new OptionError('--cursor', 'the name of a file', 'an empty one')
  try {
    // With the dot, it has to be a folder. `missing/` is a file in one that is not there.
    accessSync(`${dirname(`${path}.next`)}/.`, constants.W_OK)
  } catch (error) {
    throw new OptionError('--cursor', 'a file that can be written', `${redactPath(path)} (${reasonOf(error)})`)
  }
  try {
    return await lockFile(path)
  } catch (error) {
    const shown = redactPath(path)
    // It may be a key in the wrong place.
    throw shown === JSON.stringify(path) ? error : new Error((error as Error).message.replaceAll(path, shown))
  }
}

/**
 * Reads the file, which this process holds, and puts what a killed process has left in order.
 * `output` is the descriptor that lines go to, where that is a file. Throws `OptionError` for a
 * file that holds something else.
 */
export function openCursorFile(path: string, output: number | undefined): CursorFile {
  const next = `${path}.next`
  const about = output === undefined ? undefined : fstatSync(output)
  // The inode number of a removed file may be used again.
  const name = `${about?.ino} ${about?.birthtimeMs}`
  let bytes = about?.size ?? 0
  if (output !== undefined) {
    const prepared = readPrepared(next)?.lines
    const before = prepared === undefined ? bytes : prepared.bytes - prepared.last
    if (prepared?.file === name && prepared.bytes === bytes) writing(path, () => renameSync(next, path))
    else if (prepared?.file === name && before < bytes && bytes < prepared.bytes) {
      ftruncateSync(output, before)
      bytes = before
    }
  }
  return {
    cursor: readSaved(path)?.cursor,
    prepare(cursor, line) {
      bytes += line.length
      const saved: Saved = about === undefined ? { cursor } : { cursor, lines: { file: name, bytes, last: line.length } }
      writing(path, () => writeFileSync(next, `${JSON.stringify(saved)}\n`))
    },
    commit: () => writing(path, () => renameSync(next, path)),
  }
}

/** Undefined where there is no such file, and for one that a killed process has not finished. */
function readPrepared(path: string): Saved | undefined {
  try {
    return savedFrom(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function readSaved(path: string): Saved | undefined {
  const wrong = (why: string) => new OptionError('--cursor', 'a file of hexline follow, or one that does not exist yet', `${redactPath(path)}, ${why}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw wrong(`which cannot be read: ${reasonOf(error)}`)
  }
  try {
    return savedFrom(text)
  } catch (error) {
    throw wrong(error instanceof OptionError ? `in which ${error.option} is wrong: expected ${error.expected}` : 'which holds something else')
  }
}

/** Throws for any other text. */
function savedFrom(text: string): Saved {
  const { cursor, lines } = JSON.parse(text) as { readonly cursor: unknown; readonly lines?: NonNullable<Saved['lines']> }
  const checked = checkCursor(cursor, 'cursor')
  if (lines === undefined) return { cursor: checked }
  if (typeof lines.file !== 'string' || ![lines.bytes, lines.last].every(Number.isSafeInteger)) throw new TypeError('no lengths')
  return { cursor: checked, lines }
}

function writing(path: string, act: () => void): void {
  try {
    act()
  } catch (error) {
    throw new Error(`${redactPath(path)} cannot be written: ${reasonOf(error)}`)
  }
}
