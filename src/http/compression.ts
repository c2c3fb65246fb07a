import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const gunzip = promisify(zlib.gunzip) as Decompress
const inflate = promisify(zlib.inflate) as Decompress
const inflateRaw = promisify(zlib.inflateRaw) as Decompress
const brotli = promisify(zlib.brotliDecompress) as Decompress
/** Node.js supports zstd since 22.15. */
const zstd: Decompress | undefined = 'zstdDecompress' in zlib ? (promisify(zlib.zstdDecompress as never) as Decompress) : undefined

const codings = new Map<string, Decompress | undefined>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  // "deflate" means zlib's format (RFC 9110, 8.4.1.2); some servers send it without the zlib
  // header.
  ['deflate', (body, options) => (((body[0] as number) & 0x0f) === 8 ? inflate(body, options) : inflateRaw(body, options))],
  ['br', brotli],
  ['zstd', zstd],
  ['identity', async (body) => body],
])

/** Value of `accept-encoding`. */
export const acceptEncoding: string = zstd ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'

/**
 * Undoes `content-encoding` (RFC 9110, 8.4), the last coding first. Rejects with code
 * `ERR_BUFFER_TOO_LARGE` if the result would exceed `maxOutputLength` bytes, without decompressing
 * the rest.
 */
export async function decompress(body: Buffer, encoding: string, maxOutputLength: number): Promise<Buffer> {
  let result = body
  for (const coding of encoding.toLowerCase().split(',').reverse()) {
    const undo = codings.get(coding.trim())
    if (undo === undefined) throw new Error(`unknown coding ${JSON.stringify(coding.trim())}`)
    result = await undo(result, { maxOutputLength })
  }
  return result
}

/** Whether this is a host on this machine, for which compression only adds work. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
