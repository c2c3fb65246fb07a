import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { ask } from './ask.ts'
import { deploy, mint, tokenCode, viemOn } from './contracts.ts'

const wallet = `0x${'6d'.repeat(20)}` as const
let sandbox: Sandbox
let tokens: string[]
let values: Record<string, string>

beforeAll(async () => {
  sandbox = await startSandbox()
  const viem = viemOn(sandbox.upstream)
  tokens = []
  for (let i = 0; i < 3; i++) {
    const token = await deploy(viem, tokenCode({}))
    await mint(viem, token, wallet, 1n)
    tokens.push(token)
  }
  const { collections, transfers } = sandbox.seed
  const [c = '', d = ''] = collections.map((each) => each.collection_data_id_hash)
  const [a = '', b = ''] = [...new Set(transfers.flatMap((each) => [each.from_address, each.to_address]))]
  const [t = '', u = ''] = tokens
  values = { a, b, c, d, t, u, A: `0x${a.slice(2).toUpperCase()}`, T: `0x${t.slice(2).toUpperCase()}`, C: c.toUpperCase(), w: wallet }
})
afterAll(() => sandbox?.stop())

const fill = (path: string) => path.replace(/\{(\w)\}/g, (_, name) => values[name] as string)
const withTokens = 'api/v2.2/wallets/{w}/tokens?limit=1'
const byCollection = 'nfts/transfers/collections/{c}?limit=1'
const byWallets = 'nfts/transfers/wallets?limit=1'

describe('a cursor belongs to its list and its filters', () => {
  it.each([
    [withTokens, 'api/v2.2/wallets/{t}/tokens?limit=1'],
    [withTokens, `${withTokens}&to_block=4`],
    [withTokens, `${withTokens}&exclude_native=true`],
    [withTokens, `${withTokens}&exclude_spam=true`],
    [withTokens, `${withTokens}&exclude_unverified_contracts=true`],
    [withTokens, `${withTokens}&token_addresses={t}`],
    [`${withTokens}&token_addresses={t}&token_addresses={u}`, `${withTokens}&token_addresses={t}`],
    [byCollection, 'nfts/transfers/collections/{d}?limit=1'],
    [byCollection, 'nfts/collections/{c}/tokens?limit=1'],
    [byCollection, `${byCollection}&wallet_whitelist={a}`],
    [byCollection, `${byCollection}&wallet_blacklist={a}`],
    [`${byCollection}&wallet_blacklist={b}`, `${byCollection}&wallet_whitelist={b}`],
    ['nfts/collections/{c}/tokens?limit=1', 'nfts/collections/{d}/tokens?limit=1'],
    [`${byWallets}&wallet_addresses={a}`, `${byWallets}&wallet_addresses={b}`],
    [`${byWallets}&wallet_addresses={a}`, `${byWallets}&wallet_addresses={a}&collection_whitelist={c}`],
    [`${byWallets}&wallet_addresses={a}&collection_whitelist={c}`, `${byWallets}&wallet_addresses={a}&collection_blacklist={c}`],
    [byCollection, 'streams/evm?limit=1'],
  ])('%s is not %s', async (path, other) => {
    const { body } = await ask(sandbox, fill(path))
    expect(body.cursor).toMatch(/^[\w-]+$/)
    const refused = await ask(sandbox, `${fill(other)}&cursor=${body.cursor}`)
    expect([refused.status, String(refused.body.message)]).toEqual([400, expect.stringMatching(/^cursor must come from /)])
  })

  it.each([
    [`${withTokens}&token_addresses={t}&token_addresses={u}`, `${withTokens}&token_addresses[0]={u}&token_addresses[1]={T}`],
    [withTokens, `${withTokens}&exclude_spam=false`],
    [`${byCollection}&wallet_whitelist={a}&wallet_whitelist={b}`, `${byCollection}&wallet_whitelist[]={b}&wallet_whitelist[]={A}`],
    [`${byWallets}&wallet_addresses={a}&wallet_addresses={b}`, `${byWallets}&wallet_addresses={b}&wallet_addresses={A}`],
    [
      `${byWallets}&wallet_addresses={a}&collection_whitelist={c}&collection_whitelist={d}`,
      `${byWallets}&wallet_addresses={a}&collection_whitelist={d}&collection_whitelist={C}`,
    ],
  ])('%s is the same as %s', async (path, same) => {
    const { body } = await ask(sandbox, fill(path))
    const [one, other] = await Promise.all([path, same].map((each) => ask(sandbox, `${fill(each)}&cursor=${body.cursor}`)))
    expect(one?.status).toBe(200)
    expect(other).toMatchObject({ status: 200, body: one?.body })
  })
})
