import { Command } from 'commander'
import { type DataChain, getTransaction, getWalletTokens, type TokenBalance } from '../rest/index.ts'
import { bigintsAsStrings } from './json.ts'
import { messagesFor } from './messages.ts'
import { printList } from './records.ts'
import { addListFlags, addServiceFlags, given, restOptions, type ServiceFlags, serviceFrom, whole } from './service.ts'
import { forPerson } from './show.ts'
import type { Column } from './table.ts'

interface TokensFlags extends ServiceFlags {
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
export function tokensCommand(): Command {
  return addListFlags(
    addServiceFlags(
      new Command('tokens')
        .description("A wallet's native and ERC-20 balances, with prices.")
        .summary('what a wallet holds')
        .argument('<address>', 'of the wallet'),
      'dataUrl',
    ),
  )
    .option('--chain <name>', 'such as eth or base')
    .option('--to-block <n>', 'as of this block', whole)
    .option('--token <address...>', 'these tokens only')
    .option('--exclude-spam')
    .option('--exclude-unverified')
    .option('--exclude-native')
    .action(async (address: string, flags: TokensFlags) => {
      const messages = messagesFor(flags, process.stderr)
      const service = serviceFrom(flags, 'dataUrl', process.env, messages)
      const { chain, toBlock, token, excludeSpam, excludeUnverified, excludeNative, limit, cursor } = flags
      const params = {
        ...{ address, chain, to_block: toBlock, token_addresses: token, exclude_spam: excludeSpam },
        ...{ exclude_unverified_contracts: excludeUnverified, exclude_native: excludeNative, limit, cursor },
      }
      await printList(getWalletTokens(service, given(params), restOptions(flags)), columns, flags, messages, process.stdout)
    })
}

interface TransactionFlags extends ServiceFlags {
  readonly chain?: DataChain
  readonly internal?: true
}

/** `hexline tx`: one transaction, as the data group has it. */
export function txCommand(): Command {
  return addServiceFlags(new Command('tx').description('A transaction with its receipt and logs.').summary('a transaction').argument('<hash>'), 'dataUrl')
    .option('--chain <name>', 'such as eth or base')
    .option('--internal', 'with the calls that it made')
    .action(async (hash: string, flags: TransactionFlags) => {
      const messages = messagesFor(flags, process.stderr)
      const service = serviceFrom(flags, 'dataUrl', process.env, messages)
      const params = { transaction_hash: hash, chain: flags.chain, include: flags.internal ? ('internal_transactions' as const) : undefined }
      const transaction = await getTransaction(service, given(params), restOptions(flags))
      if (flags.json || transaction === null) process.stdout.write(`${JSON.stringify(transaction, bigintsAsStrings)}\n`)
      else process.stdout.write(`${forPerson(transaction, 'tx', process.stdout.isTTY)}\n`)
    })
}
