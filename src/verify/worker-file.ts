import { existsSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The file that a worker runs, by its path from this one without an extension, in the sources and
 * in each build. Undefined where it cannot be run: in a bundle, which has no such file, and for
 * TypeScript where Node.js does not take it.
 */
export function workerFile(path: string): string | undefined {
  const own = ownFile()
  if (own === undefined) return undefined
  const extension = extname(own)
  // A bundle has another name, and what stands beside it is not ours.
  if (basename(own) !== `worker-file${extension}`) return undefined
  if (extension === '.ts' && !(process.features as { typescript?: unknown }).typescript) return undefined
  const file = join(dirname(own), `${path}${extension}`)
  return existsSync(file) ? file : undefined
}

/**
 * The file of this module. A stack names it both in ES modules and in CommonJS, which have no
 * common expression for it.
 */
function ownFile(): string | undefined {
  const { prepareStackTrace } = Error
  try {
    Error.prepareStackTrace = (_, sites) => sites[0]?.getFileName()
    const file = new Error().stack as string | null | undefined
    return file?.startsWith('file:') ? fileURLToPath(file) : (file ?? undefined)
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
}
