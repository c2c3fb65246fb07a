import { Command } from 'commander'
import type { DataChain, TokenBalance } from '../rest/index.ts'
import { NotFound } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { toJson } from './output/json.ts'
import { messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { printList } from './output/records.ts'
import { forPerson } from './output/show.ts'
import type { Column } from './output/table.ts'
import { type ArrayFlags, addArrayFlags, addListFlags, addServiceFlags, arrayOptions, restOptions, type ServiceFlags, serviceFrom, whole } from './service.ts'

interface TokensFlags extends ServiceFlags, ArrayFlags {
  readonly chain?: DataChain
  readonly toBlock?: number
  readonly token?: readonly string[]
  readonly excludeSpam?: true
  readonly excludeUnverified?: true
  readonly excludeNative?: true
}

const columns: readonly Column<TokenBalance>[] = [
  { title: 'TOKEN', of: ({ symbol }) => symbol },
  { title: 'BALANCE', of: ({ balance_formatted, balance }) => balance_formatted ?? balance, right: true },
  { title: 'USD', of: ({ usd_value }) => (typeof usd_value === 'number' ? usd_value.toFixed(2) : usd_value), right: true },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ADDRESS', of: ({ native_token, token_address }) => (native_token ? 'native' : token_address) },
]

/** `hexline tokens`: what a wallet holds. */
export function tokensCommand(io: Io): Command {
  const command = addListFlags(
    addServiceFlags(
      new Command('tokens')
        .description("A wallet's native and ERC-20 balances, with prices.")
        .summary('what a wallet holds')
        .argument('<address>', 'address of the wallet'),
      'dataUrl',
    ),
  )
  return addArrayFlags(command)
    .option('--chain <name>', 'a chain, such as eth or base')
    .option('--to-block <n>', 'balances at this block', whole)
    .option('--token <address...>', 'only these tokens')
    .option('--exclude-spam', 'without tokens marked as spam')
    .option('--exclude-unverified', 'without tokens of unverified contracts')
    .option('--exclude-native', 'without the native coin')
    .addHelpText(
      'after',
      `
Examples:
  hexline tokens 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 --chain eth --exclude-spam
  HEXLINE_DATA_URL=https://data.example.com HEXLINE_API_KEY=… hexline tokens 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 --all --json | jq .symbol`,
    )
    .action(async (address: string, flags: TokensFlags) => {
      const messages = messagesFor(flags, io)
      const service = serviceFrom(flags, 'dataUrl', io.env, messages)
      const { chain, toBlock, token, excludeSpam, excludeUnverified, excludeNative, limit, cursor } = flags
      const params = {
        ...{ address, chain, to_block: toBlock, token_addresses: token, exclude_spam: excludeSpam },
        ...{ exclude_unverified_contracts: excludeUnverified, exclude_native: excludeNative, limit, cursor },
      }
      const { getWalletTokens } = await import('../rest/index.ts')
      await printList(io.stdout, getWalletTokens(service, params, { ...restOptions(flags), ...arrayOptions(flags) }), columns, flags, messages)
    })
}

interface TransactionFlags extends ServiceFlags {
  readonly chain?: DataChain
  readonly internal?: true
}

/** `hexline tx`: one transaction, from the data group. */
export function txCommand(io: Io): Command {
  return addServiceFlags(new Command('tx').description('A transaction with its receipt and logs.').summary('a transaction').argument('<hash>'), 'dataUrl')
    .option('--chain <name>', 'a chain, such as eth or base')
    .option('--internal', 'include internal calls')
    .addHelpText(
      'after',
      `
Examples:
  hexline tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 --chain eth
  HEXLINE_DATA_URL=https://data.example.com HEXLINE_API_KEY=… hexline tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 --internal --json | jq .`,
    )
    .action(async (hash: string, flags: TransactionFlags) => {
      const messages = messagesFor(flags, io)
      const service = serviceFrom(flags, 'dataUrl', io.env, messages)
      const params = { transaction_hash: hash, chain: flags.chain, include: flags.internal ? ('internal_transactions' as const) : undefined }
      const { getTransaction } = await import('../rest/index.ts')
      const transaction = await getTransaction(service, params, restOptions(flags))
      if (transaction === null) {
        const { host } = new URL(service.dataUrl as string)
        throw new NotFound(`${host} has no transaction with this hash on ${flags.chain ?? 'its default chain'}`, 'getTransaction', host)
      }
      const text = flags.json ? toJson(transaction) : forPerson(asSent(transaction), 'tx', io.stdout.isTTY === true)
      await printText(io.stdout, `${text}\n`)
    })
}

/** Without the decoded dates; each time is there as it was sent, too. */
function asSent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asSent)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item instanceof Date ? [] : [[name, asSent(item)]])))
}
