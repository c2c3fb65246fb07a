import { fileOutput } from './file-output.ts'
import type { TextStream } from './io.ts'
import type { Output } from './output.ts'
import { standardOutput } from './standard-output.ts'

/** The file of `--out`; undefined for `-`, which stands for standard output. */
export function outFile(path: string | undefined): string | undefined {
  return path === '-' ? undefined : path
}

/**
 * Standard output, or a file. `stop` is aborted when standard output cannot be written. Throws
 * `OptionError` for a file that cannot be.
 */
export async function openOutput(path: string | undefined, force: boolean, stdout: TextStream, stop: AbortController): Promise<Output> {
  return path === undefined ? standardOutput(stdout, stop) : await fileOutput(path, force)
}
