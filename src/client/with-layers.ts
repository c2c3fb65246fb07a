import { OptionError } from '../errors.ts'
import type { Layer, Reply, Send } from '../rpc/call.ts'
import { atTheEdge } from '../rpc/call-failure.ts'
import { show } from '../text.ts'
import type { ClientOptions } from './options.ts'

/** A pipeline with its layers. */
export interface Layered {
  readonly send: Send
  /** Whether it has layers of the user's own. */
  readonly hasOthers: boolean
}

/**
 * Wraps what sends calls to the endpoints, `routed`, in the layers that the option `layers` gives.
 * `ownRetry` is the default one. Throws `OptionError` for anything but layers.
 */
export function withLayers(option: NonNullable<ClientOptions['layers']>, ownRetry: Layer, routed: Send): Layered {
  const layers: unknown = option([ownRetry])
  if (!Array.isArray(layers) || !layers.every((layer) => typeof layer === 'function'))
    throw new OptionError('layers', 'a function that returns an array of layers', `one that returns ${show(layers)}`)
  const send = (layers as Layer[]).reduceRight<Send>(
    (next, layer) => {
      const wrapped: unknown = layer(next)
      if (typeof wrapped !== 'function') throw new OptionError('layers', 'layers that return a function', `one that returns ${show(wrapped)}`)
      return layer === ownRetry ? (wrapped as Send) : keepingContract(wrapped as Send)
    },
    // The user's layers see errors as they are at the edge; the default retry layer also reads what
    // the pipeline attaches to them.
    layers.at(-1) === ownRetry ? routed : atTheEdge(routed),
  )
  return { send, hasOthers: layers.some((layer) => layer !== ownRetry) }
}

/** A layer of the user's own. It may throw, give the reply itself, or give something else. */
function keepingContract(send: Send): Send {
  return async (call) => {
    const reply: Partial<Reply> | undefined | null = await send(call)
    if (typeof reply?.take === 'function' && typeof reply.bytes === 'number') return reply as Reply
    throw new TypeError(`${call.method}: a layer of the client must resolve to a reply, such as replyOf makes, and resolved to ${show(reply)}`)
  }
}
