import { Command } from 'commander'
import type { Client, Request } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import { connectionsOf, RECORD, type RequestMarks } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { OptionError } from '../errors.ts'
import { decodeResult, encodeArguments, isKnown } from '../eth/methods.ts'
import { CallRecord } from '../rpc/call-record.ts'
import { addNodeFlags, endpointFrom, type NodeFlags, timesFrom } from './node.ts'
import type { Io } from './output/io.ts'
import { toJson } from './output/json.ts'
import { messagesFor } from './output/messages.ts'
import { printJson, printText } from './output/print.ts'
import { forPerson } from './output/show.ts'
import { methodFrom, paramFrom, paramsFrom, wireFrom } from './params.ts'

interface Flags extends NodeFlags {
  readonly json?: boolean
  readonly raw?: boolean
  readonly params?: string
}

/** `hexline call`: one call of any method. */
export function callCommand(io: Io): Command {
  return addNodeFlags(
    new Command('call')
      .description('Makes one call. Results of the methods that hexline knows are decoded; any other method is sent unchanged.')
      .summary('one call of any method')
      .argument('<method>', 'such as eth_getBalance')
      .argument('[params...]', 'each decimal (sent as a hex quantity), hex, a tag, or JSON'),
  )
    .option('--json', 'print JSON, with amounts as decimal strings')
    .option('--raw', "print the node's own JSON")
    .option('--params <json>', 'all parameters as one JSON array, in which numbers stay numbers')
    .addHelpText(
      'after',
      `
Examples:
  hexline call eth_blockNumber --rpc http://127.0.0.1:8545
  hexline call eth_getBalance 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 21000000
  hexline call eth_getBlockByNumber latest false --json | jq .gasUsed
  hexline call eth_getLogs '{"fromBlock":"latest","address":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"}'
  hexline call web3_clientVersion
  hexline call anvil_reorg --params '[2, []]'`,
    )
    .action((name: string, texts: readonly string[], flags: Flags) => makeCall(name, texts, flags, io))
}

async function makeCall(name: string, texts: readonly string[], flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const method = methodFrom(name)
  const known = isKnown(method)
  const params = wireParams(method, texts, flags)
  const client = createClient(endpointFrom(flags, io.env, messages), timesFrom(flags))
  try {
    const record = new CallRecord()
    const request: Request & RequestMarks = { method, params, as: flags.raw ? 'bytes' : 'value', [RECORD]: record }
    const reply = await client.send(request)
    const value = reply.take()
    if (flags.raw) await printJson(io.stdout, value as Uint8Array)
    else {
      const result = known ? decoded(client, method, value, params, record) : value
      await printText(io.stdout, `${textOf(result, method, flags, io)}\n`)
    }
  } finally {
    await client.close()
  }
}

function wireParams(method: string, texts: readonly string[], { params }: Flags): readonly unknown[] {
  if (params !== undefined && texts.length > 0) throw new OptionError('--params', 'either --params or parameters as arguments', 'both')
  if (params !== undefined) return paramsFrom(params)
  const args = texts.map(paramFrom)
  return isKnown(method) ? encodeArguments(method, args) : args.map(wireFrom)
}

function textOf(result: unknown, method: string, { json }: Flags, { stdout }: Io): string {
  try {
    return json ? toJson(result) : forPerson(result, method, stdout.isTTY === true)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Error(`${method}: the result is too long or too deeply nested to show: --raw prints it as the node sent it`)
  }
}

function decoded(client: Client, method: string, value: unknown, params: readonly unknown[], record: CallRecord): unknown {
  try {
    return decodeResult(method, value, params)
  } catch (error) {
    throw scrubError(error, connectionsOf(client), record)
  }
}
