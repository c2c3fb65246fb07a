import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'

/** Node's own Zstandard; undefined before 22.15 and 23.8. */
export const createZstd = (zlib as { createZstdCompress?: () => Transform }).createZstdCompress

/** Whether this Node.js can write and read Zstandard. */
export const hasZstd: boolean = createZstd !== undefined
