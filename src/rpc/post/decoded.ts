import { parseAt } from '../../json/scan.ts'
import type { PooledCall, Reply } from '../call.ts'
import { decodedReply } from '../decoded-reply.ts'
import { replyOf } from '../reply.ts'
import { cutBody } from './body.ts'

/** Smaller bodies are parsed, in bytes: nothing is saved there. */
const LEAST = 8 * 1024

/**
 * The replies of a body whose results are decoded from its bytes, without `JSON.parse`; undefined
 * for a body to parse, which is any that is not in the usual form or has an error.
 *
 * The body is cut where the next envelope seems to begin (unread.ts says why that is right as long
 * as each region turns out to be exactly one JSON value). Each region is read to its end here: by
 * the decoder of its call, or by `JSON.parse` where that does not accept it.
 */
export function decodedReplies(body: Buffer, calls: readonly PooledCall[], first: number): Reply[] | undefined {
  if (body.length < LEAST || !calls.some(({ decode }) => decode !== undefined) || calls.some((call) => call.as === 'bytes')) return undefined
  const regions = cutBody(body, first, calls.length)
  if (regions === undefined) return undefined
  try {
    return regions.map(({ start, end }, i) => {
      const json = body.subarray(start, end)
      const decoded = decodedFrom(json, calls[i] as PooledCall)
      return decoded === undefined ? replyOf(parseAt(body, start, end), json.length) : decodedReply(decoded, json, json.length)
    })
  } catch {
    // A region is not one JSON value, so the body was cut in the wrong places.
    return undefined
  }
}

function decodedFrom(json: Buffer, { decode }: PooledCall): object | undefined {
  try {
    return decode?.(json)
  } catch {
    return undefined
  }
}
