import { decodeNumber, decodeQuantity } from '../../src/eth/codec/quantity.ts'
import type { Decode } from '../../src/eth/codec/schema.ts'
import { isSafe } from '../../src/eth/methods.ts'
import { nodeMethods } from '../../src/eth/node-methods.ts'
import { address, block, blockNumber, bytes, call, filter, flag, hash, type Param, quantity } from '../../src/eth/params.ts'
import { rowsOf } from './methods.ts'

/*
 * The methods of node-methods.ts as OpenRPC (https://spec.open-rpc.org), for machines. Schemas
 * follow from the codecs; what has no schema there, such as a trace whose form depends on its
 * tracer, is any value. The service's own 28 methods have a document of their own, openrpc.json.
 */

type JsonSchema = Readonly<Record<string, unknown>>

const hex = { type: 'string', pattern: '^0x[0-9a-fA-F]*$' }
const count = {
  oneOf: [
    { type: 'string', pattern: '^0x[0-9a-fA-F]+$' },
    { type: 'integer', minimum: 0 },
  ],
}
const tag = { enum: ['latest', 'earliest', 'pending', 'safe', 'finalized'] }
const number = { oneOf: [{ type: 'string', pattern: '^0x[0-9a-fA-F]{1,16}$' }, tag] }

/** What is sent for a parameter, by its codec. */
const params = new Map<unknown, JsonSchema>([
  [address.encode, { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }],
  [hash.encode, { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' }],
  [bytes.encode, { type: 'string', pattern: '^0x(?:[0-9a-fA-F]{2})*$' }],
  [quantity.encode, { type: 'string', pattern: '^0x[0-9a-fA-F]+$' }],
  [flag.encode, { type: 'boolean' }],
  [blockNumber.encode, number],
  [block.encode, { oneOf: [...number.oneOf, { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' }, { type: 'object' }] }],
  [call.encode, { type: 'object' }],
  [filter.encode, { type: 'object' }],
])

/** The document. `folder` has the declarations of `src/eth`, as the build writes them. */
export function openRpc(folder: string): object {
  const declared = rowsOf(`${folder}/node-methods.d.ts`, 'nodeMethods')
  const methods = Object.entries(nodeMethods).map(([name, row]) => {
    const { words, args, result, source } = declared[name] ?? { words: '', args: '', result: '', source: undefined }
    const names = [...args.matchAll(/(?:^|, )(\w+)\??: /g)].map(([, each]) => each as string)
    const codecs = row.params.codecs as readonly Param<never>[]
    return {
      name,
      description: words,
      ...(source !== undefined && { externalDocs: { url: source } }),
      params: codecs.map((codec, i) => ({
        name: names[i] ?? `param${i}`,
        required: codec.omitted === undefined,
        schema: params.get(codec.encode) ?? {},
      })),
      result: { name: 'result', description: result, schema: resultSchema(row.result as Decode<unknown>, result) },
      'x-repeatable': isSafe(name),
    }
  })
  return {
    openrpc: '1.3.2',
    info: { title: 'What nodes answer beyond the methods of the service', version: '1.0.0', license: { name: 'MIT' } },
    methods,
  }
}

function resultSchema(decode: Decode<unknown>, type: string): JsonSchema {
  const schema = type === 'Hex' ? hex : type === 'boolean' ? { type: 'boolean' } : type === 'string' ? { type: 'string' } : schemaOf(decode)
  return schema
}

/** Null stands for an absent value in any field. */
function schemaOf(decode: Decode<unknown>): JsonSchema {
  if (decode === (decodeQuantity as Decode<unknown>) || decode === (decodeNumber as Decode<unknown>)) return count
  const { schema } = decode
  if (schema?.is === 'string') return { type: 'string' }
  if (schema?.is === 'array') return { type: 'array', items: schemaOf(schema.item) }
  if (schema?.is !== 'object') return {}
  const properties = [...schema.decoders].map(([key, field]) => [key, { oneOf: [{ type: 'null' }, schemaOf(field)] }] as const)
  return { type: 'object', required: schema.identity, properties: Object.fromEntries(properties.map(([key, each]) => [key, tidy(each)])) }
}

/** A field of any value needs no alternatives. */
function tidy(schema: { readonly oneOf: readonly JsonSchema[] }): JsonSchema {
  return Object.keys(schema.oneOf[1] ?? {}).length === 0 ? {} : { anyOf: schema.oneOf }
}
