import { beforeEach, describe, expect, it, test } from 'vitest'
import { type Ended, hexline, startHexline } from '../support/command.ts'
import { ADDRESS, COLLECTION, CREATOR, HASH } from '../support/rest-operations.ts'
import { samples } from '../support/rest-records.ts'
import { type Answer, always, cut, KEY, pages, type RestServer, serveRest } from '../support/rest-server.ts'
import { nightly } from '../support/runs.ts'
import { deadPort, send } from '../support/server.ts'

let server: RestServer
const last = (record: object) => always({ result: [record], cursor: null })
beforeEach(async () => {
  server = await serveRest(always({ result: [], cursor: null }))
})

/** The environment variables of the service. */
const env = (url = server.url) => ({ HEXLINE_DATA_URL: url, HEXLINE_NFT_URL: url, HEXLINE_STREAMS_URL: url, HEXLINE_API_KEY: KEY })

/** With a wrong digit. */
const MISTYPED = ADDRESS.replace('223F', '224F')

/** Runs it on the server, and asserts that its output does not contain the key. */
async function run(...args: string[]): Promise<Ended> {
  const ended = await hexline(args, { env: env() })
  expect(ended.stdout + ended.stderr).not.toContain(KEY)
  return ended
}

const commands: readonly { args: readonly string[]; group: string; needs: string }[] = [
  { args: ['tokens', ADDRESS], group: 'data', needs: 'the data group' },
  { args: ['tx', HASH], group: 'data', needs: 'the data group' },
  { args: ['nft', 'transfers', '--collection', COLLECTION], group: 'nft', needs: 'the NFT group' },
  { args: ['nft', 'transfers', '--wallet', CREATOR], group: 'nft', needs: 'the NFT group' },
  { args: ['nft', 'tokens', COLLECTION], group: 'nft', needs: 'the NFT group' },
  { args: ['nft', 'collections', CREATOR], group: 'nft', needs: 'the NFT group' },
  { args: ['streams'], group: 'streams', needs: 'the streams group' },
]

describe('prints a table', () => {
  test.each<[string[], Answer, string[]]>([
    [
      ['tokens', ADDRESS],
      always({ result: [samples.tokenBalance.sent, { token_address: '0xa1', balance: '5', symbol: 'USDC', native_token: false }], cursor: null }),
      [
        'TOKEN                                   BALANCE      USD  NAME   ADDRESS',
        'ETH    340282366920938463463.374607431768211455  1000.00  Ether  native',
        'USDC                                          5        -  -      0xa1',
      ],
    ],
    [
      ['nft', 'transfers', '--wallet', CREATOR],
      last(samples.nftTransfer.sent),
      ['TIME                         NFT        COLLECTION  FROM  TO   AMOUNT', '2022-10-16T23:07:19.123456Z  Monkey #1  Monkeys     0xf   0xt       1'],
    ],
    [['nft', 'tokens', COLLECTION], last(samples.nft.sent), ['NFT        SUPPLY  ID  METADATA', 'Monkey #1       1  ta  https://meta']],
    [['nft', 'collections', CREATOR], last(samples.nftCollection.sent), ['COLLECTION  SUPPLY  ID  METADATA', 'Monkeys       4200  ca  https://meta']],
    [['streams'], last(samples.stream.sent), ['STREAM     STATUS  CHAINS    WEBHOOK       ID', 'transfers  active  0x1 0x89  https://hook  3fa85f64']],
  ])('%j', async (args, answer, lines) => {
    server.script(answer)
    expect(await run(...args)).toEqual({
      code: 0,
      stdout: `${lines.join('\n')}\n`,
      stderr: lines.length === 2 ? '1 record\n' : `${lines.length - 1} records\n`,
    })
  })

  it('a transaction field by field, its times as sent', async () => {
    server.script(always(samples.transaction.sent))
    const { code, stdout, stderr } = await run('tx', HASH)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^hash +0xt1\nnonce +326595425\n/)
    expect(stdout).toMatch(/^value +340282366920938463463374607431768211455 wei \(340282366920938463463\.374607431768211455 ether\)$/m)
    expect(stdout).toMatch(/^block_timestamp +2023-01-22T15:00:11\.000Z$/m)
    expect(stdout).toMatch(/^ {4}log_index +3$/m)
    expect(stdout).not.toMatch(/_date|\{\}/)
  })

  it('an empty list is a line on stderr only', async () => {
    expect(await run('streams')).toEqual({ code: 0, stdout: '', stderr: '0 records\n' })
  })
})

describe('prints JSON', () => {
  it('one line a record, with amounts as strings, and messages on stderr', async () => {
    server.script(always({ result: [samples.tokenBalance.sent, { token_address: '0xa1', balance: '5' }], cursor: 'c d' }))
    const { code, stdout, stderr } = await run('tokens', ADDRESS, '--json')
    const { usd_price_24hr_usd_change, usd_value, possible_spam, decimals, ...same } = samples.tokenBalance.sent
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => (line === '' ? line : JSON.parse(line)))).toEqual([
      { ...same, usd_price_24hr_usd_change: -21.06, usd_value: 1000, possible_spam: false, decimals: 18 },
      { token_address: '0xa1', balance: '5' },
      '',
    ])
    expect(JSON.parse(stderr)).toEqual({ type: 'more', records: 2, cursor: 'c d' })
  })

  it('of a transaction, in one line', async () => {
    server.script(always(samples.transaction.sent))
    const { stdout } = await run('tx', HASH, '--json')
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(JSON.parse(stdout)).toMatchObject({ value: '340282366920938463463374607431768211455', block_timestamp_date: '2023-01-22T15:00:11.000Z' })
  })
})

describe('pages', () => {
  const three = pages({
    '': { result: [{ id: 'a' }], cursor: "it's b" },
    "it's b": { result: [{ id: 'b' }], cursor: 'c' },
    c: { result: [{ id: 'c' }], cursor: '' },
  })
  const ids = ({ stdout }: Ended) => stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id]))
  beforeEach(() => server.script(three))

  it('one, with a hint for the next', async () => {
    const { stderr, stdout } = await run('streams')
    expect(stdout.split('\n')).toHaveLength(3)
    expect(stderr).toBe("1 record; for more, use --all or --cursor 'it'\\''s b'\n")
    expect(server.requests.map(({ query }) => query)).toEqual(['limit=100'])
  })

  it('all with --all', async () => {
    expect(ids(await run('streams', '--all', '--json'))).toEqual(['a', 'b', 'c'])
    expect((await run('streams', '--all')).stderr).toBe('3 records\n')
  })

  it('from --cursor on, --limit records each', async () => {
    expect(ids(await run('streams', '--all', '--json', '--cursor', "it's b", '--limit', '7'))).toEqual(['b', 'c'])
    expect(server.requests.map(({ query }) => query)).toEqual(["limit=7&cursor=it's%20b", 'limit=7&cursor=c'])
  })
})

describe('sends its flags', () => {
  const B = `0x${'12'.repeat(20)}`
  const many = Array.from({ length: 21 }, (_, i) => `0x${i.toString(16).padStart(40, '0')}`)
  const sentAs = (name: string, ...values: string[]) => values.map((value) => `${name}=${value}`).join('&')
  const wallets = (name: string, ...values: string[]) => values.map((value, i) => `${name}%5B${i}%5D=${value}`).join('&')
  test.each<[string[], string]>([
    [['tokens', ADDRESS], `/api/v2.2/wallets/${ADDRESS}/tokens`],
    [['tokens', ADDRESS, '--chain', 'polygon amoy', '--to-block', '0'], `/api/v2.2/wallets/${ADDRESS}/tokens?chain=polygon%20amoy&to_block=0`],
    [['tokens', ADDRESS, '--token', ADDRESS, B], `/api/v2.2/wallets/${ADDRESS}/tokens?${wallets('token_addresses', ADDRESS, B)}`],
    [
      ['tokens', ADDRESS, '--exclude-spam', '--exclude-unverified', '--exclude-native', '--limit', '3'],
      `/api/v2.2/wallets/${ADDRESS}/tokens?exclude_spam=true&exclude_unverified_contracts=true&limit=3&exclude_native=true`,
    ],
    [['tokens', ADDRESS, '--token', ADDRESS, B, '--arrays', 'brackets'], `/api/v2.2/wallets/${ADDRESS}/tokens?${sentAs('token_addresses%5B%5D', ADDRESS, B)}`],
    [['tokens', ADDRESS, '--arrays', 'repeat', '--token', ADDRESS, B], `/api/v2.2/wallets/${ADDRESS}/tokens?${sentAs('token_addresses', ADDRESS, B)}`],
    [['tokens', ADDRESS, '--max-array', '21', '--token', ...many], `/api/v2.2/wallets/${ADDRESS}/tokens?${wallets('token_addresses', ...many)}`],
    [
      ['nft', 'transfers', '--wallet', ...many, '--max-array', '30', '--arrays', 'repeat'],
      `/nfts/transfers/wallets?limit=100&${sentAs('wallet_addresses', ...many)}`,
    ],
    [['tx', HASH, '--chain', '0x2105', '--internal'], `/api/v2.2/transaction/${HASH}?chain=0x2105&include=internal_transactions`],
    [
      ['nft', 'transfers', '--collection', COLLECTION, '--only', '0x1', '--without', '0x2', '0x3', '--offset', '5', '--limit', '9'],
      `/nfts/transfers/collections/${COLLECTION}?limit=9&offset=5&${wallets('wallet_whitelist', '0x1')}&${wallets('wallet_blacklist', '0x2', '0x3')}`,
    ],
    [
      ['nft', 'transfers', '--wallet', '0x1', '0x2', '--only', 'a', '--without', 'b'],
      `/nfts/transfers/wallets?limit=100&${wallets('wallet_addresses', '0x1', '0x2')}&${wallets('collection_whitelist', 'a')}&${wallets('collection_blacklist', 'b')}`,
    ],
    [['nft', 'tokens', COLLECTION, '--offset', '5', '--limit', '500'], `/nfts/collections/${COLLECTION}/tokens?limit=500&offset=5`],
    [['nft', 'collections', CREATOR, '--offset', '5'], `/collections/creators?limit=100&offset=5&creator_address=${CREATOR}`],
    [['streams', '--limit', '1'], '/streams/evm?limit=1'],
  ])('%j', async (args, url) => {
    server.script(always({ hash: HASH, result: [], cursor: null }))
    expect((await run(...args)).code).toBe(0)
    expect(server.requests.map((asked) => [asked.url, asked.headers['x-api-key']])).toEqual([[url, KEY]])
  })

  it('--lenient prints an invalid list, and objects, as sent', async () => {
    server.script(last({ id: 's', chainIds: '0x1', tag: { a: 1 } }))
    const { code, stdout } = await run('streams', '--lenient')
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/0x1/) })
    expect(stdout).toContain('{"a":1}')
  })

  it('--lenient keeps invalid values', async () => {
    server.script(last({ token_address: '0xa1', balance: 'lots' }))
    expect(await run('tokens', ADDRESS)).toMatchObject({ code: 1, stdout: '' })
    expect(await run('tokens', ADDRESS, '--lenient')).toMatchObject({ code: 0, stdout: expect.stringContaining('lots') })
  })

  test.each<[string, Answer, RegExp]>([
    [
      'an invalid field',
      last({ token_address: '0xa1', balance: 'lots' }),
      /received "lots"; is this the address of this group\? --lenient keeps invalid fields\n$/,
    ],
    ['a page of HTML', always('<html>'), /\(6 bytes\); is this the address of this group\?\n$/],
    ['a list without an end', always({ result: [], cursor: 'x' }), /so the list would never end\n$/],
  ])('%s: the message names --lenient only where it helps', async (_, answer, stderr) => {
    server.script(answer)
    expect(await run('tokens', ADDRESS, '--all')).toMatchObject({ code: 1, stderr: expect.stringMatching(stderr) })
  })

  test.each(commands)('$args takes address and key as flags, with a warning', async ({ args, group }) => {
    server.script(always({ hash: HASH, result: [], cursor: null }))
    const { code, stdout, stderr } = await hexline([...args, `--${group}-url`, server.url, '--api-key', KEY])
    expect(code).toBe(0)
    expect(stderr).toContain('hexline: warning: other users of this machine can see a key given as an argument; use HEXLINE_API_KEY instead\n')
    expect(stdout + stderr).not.toContain(KEY)
    expect(server.requests).toHaveLength(1)
  })
})

describe('wrong usage ends with 2 and one line, before anything is sent', () => {
  test.each(commands)('$args without address or key of the service', async ({ args, group, needs }) => {
    const { [`HEXLINE_${group.toUpperCase()}_URL`]: _, ...others } = env() as Record<string, string>
    const line = `hexline: --${group}-url: expected the address of ${needs}, here or in HEXLINE_${group.toUpperCase()}_URL, received nothing\n`
    expect(await hexline([...args], { env: others })).toEqual({ code: 2, stdout: '', stderr: line })
    expect(await hexline([...args], { env: { ...env(), HEXLINE_API_KEY: '' } })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'hexline: --api-key: expected the key, here or in HEXLINE_API_KEY, received nothing\n',
    })
    expect(server.requests).toEqual([])
  })

  test.each<[string[], string]>([
    [['tokens'], "missing required argument 'address'"],
    [['tx'], "missing required argument 'hash'"],
    [['nft', 'tokens'], "missing required argument 'collection'"],
    [['nft', 'collections'], "missing required argument 'creator'"],
    [['nft', 'transfers'], 'either --collection or --wallet is required'],
    [['nft', 'transfers', '--collection', 'a', '--wallet', 'b'], '--collection and --wallet cannot be combined'],
    [['tokens', '0x12'], 'address: expected an address (0x and 40 hex digits), received "0x12"'],
    [['tokens', ADDRESS, '--chain', 'moon'], 'chain: expected one of eth, sepolia'],
    [['tokens', ADDRESS, '--token', 'a'], 'token_addresses[0]: expected an address'],
    [['tokens', MISTYPED], `address: expected an address with a valid EIP-55 checksum, or in lower case, received "${MISTYPED}"`],
    [['tokens', ADDRESS, '--token', ...Array(21).fill(ADDRESS)], 'token_addresses: expected at most 20 entries (--max-array), received an array of 21'],
    [['tokens', ADDRESS, '--max-array', '0'], '--max-array: expected a whole number of at least 1, received 0'],
    [['tokens', ADDRESS, '--arrays', 'commas'], "option '--arrays <form>' argument 'commas' is invalid. Allowed choices are indices, brackets, repeat."],
    [['tokens', ADDRESS, '--limit', '0'], 'limit: expected a whole number of at least 1, received 0'],
    [['tokens', ADDRESS, '--limit', '1.5'], "option '--limit <n>' argument '1.5' is invalid. It must be a whole number from 0 to 2^53 - 1."],
    [['tokens', ADDRESS, '--to-block', 'latest'], "option '--to-block <n>' argument 'latest' is invalid. It must be a whole number from 0 to 2^53 - 1."],
    [['tokens', ADDRESS, '--offset', '5'], "unknown option '--offset'"],
    [['tx', ADDRESS], 'transaction_hash: expected a transaction hash (0x and 64 hex digits)'],
    [['nft', 'tokens', 'xyz'], 'collection_data_id_hash: expected up to 64 hex digits, received "xyz"'],
    [['streams', '--limit', '101'], 'limit: expected a whole number from 1 to 100, received 101'],
    [['streams', '--cursor', ''], 'cursor: expected the cursor of a page, received ""'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.startsWith(`hexline: ${message}`), stderr).toBe(true)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect(server.requests).toEqual([])
  })

  it('an invalid address, and a key that a header cannot hold', async () => {
    for (const wrong of [{ HEXLINE_STREAMS_URL: `nonsense/${KEY}` }, { HEXLINE_STREAMS_URL: `${server.url}?key=${KEY}` }, { HEXLINE_API_KEY: `${KEY}\n` }]) {
      const { code, stderr } = await hexline(['streams'], { env: { ...env(), ...wrong } })
      expect(code).toBe(2)
      expect(stderr).toMatch(/^hexline: [^\n]*expected [^\n]*\n$/)
      expect(stderr).not.toContain(KEY)
    }
  })
})

describe('an unknown transaction ends it with 1 and one line', () => {
  test('without output, and as JSON with --json', async () => {
    server.script(always('', { status: 404 }))
    const message = expect.stringMatching(/^127\.0\.0\.1:\d+ has no transaction with this hash on its default chain$/)
    const { code, stdout, stderr } = await run('tx', HASH)
    expect({ code, stdout, said: stderr.replace(/^hexline: |\n$/g, '') }).toEqual({ code: 1, stdout: '', said: message })
    const asked = await run('tx', HASH, '--json')
    const facts = { kind: 'not-found', method: 'getTransaction', endpoint: new URL(server.url).host }
    expect({ ...asked, stderr: JSON.parse(asked.stderr) }).toEqual({ code: 1, stdout: '', stderr: { type: 'error', message, ...facts, exitCode: 1 } })
  })
})

describe('a service that fails ends it with 1 and one line', () => {
  test.each<[string, Answer, string]>([
    ['400', always({ message: ['limit must be a number'] }, { status: 400 }), 'answered HTTP 400: limit must be a number'],
    [
      '401, with the key in it',
      (asked, response) => send(response, JSON.stringify({ message: `bad key ${asked.headers['x-api-key']}` }), { status: 401 }),
      'answered HTTP 401: bad key [hidden]; check the key',
    ],
    ['a quota', always({ message: 'plan used up' }, { status: 401 }), 'answered HTTP 401: plan used up; use another key, or wait until the quota is renewed'],
    ['500', always('', { status: 500 }), 'answered HTTP 500'],
    ['a cut connection', cut, 'the connection ended before the reply'],
    ['a field that cannot be read', last({ id: 5 }), 'result[0].id: expected a string, received 5'],
  ])('%s', async (_, answer, message) => {
    server.script(answer)
    const { code, stdout, stderr } = await run('streams')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^hexline: [^\n]*\n$/)
    expect(stderr).toContain(message)
  })

  it('a refused connection', async () => {
    const { code, stderr } = await hexline(['streams'], { env: env(`http://127.0.0.1:${await deadPort()}`) })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^hexline: [^\n]*ECONNREFUSED[^\n]*\n$/)
  })

  it('earlier output stays; with --json the failure is JSON, too', async () => {
    server.script(always({ result: [{ id: 'a' }], cursor: 'b' }), always({ message: 'no' }, { status: 403 }))
    const { code, stdout, stderr } = await run('streams', '--all', '--json')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '{"id":"a"}\n' })
    expect(JSON.parse(stderr)).toMatchObject({ type: 'error', kind: 'auth', method: 'getStreams', attempts: 1, exitCode: 1 })
  })
})

describe('a terminal', () => {
  // Colours, a cleared screen, a new line, a title, the other reading direction, and a C1 escape.
  const nasty = 'a\u001b[31mb\u001b[2J\r\nc\u001b]0;t\u0007d\u202ee\u009bf\u0000'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/

  test.each<[string[], object]>([
    [['tokens', ADDRESS], { token_address: nasty, balance: '1', symbol: nasty, name: nasty, balance_formatted: nasty }],
    [['nft', 'transfers', '--wallet', CREATOR], { token_data_id_hash: 'a', name: nasty, collection_name: nasty, from_address: nasty, to_address: nasty }],
    [['nft', 'tokens', COLLECTION], { token_data_id_hash: nasty, name: nasty, metadata_uri: nasty }],
    [['nft', 'collections', CREATOR], { collection_data_id_hash: nasty, collection_name: nasty, metadata_uri: nasty }],
    [['streams'], { id: nasty, tag: nasty, status: nasty, webhookUrl: nasty, chainIds: [nasty] }],
  ])('gets no control characters from %j', async (args, record) => {
    server.script(always({ result: [record], cursor: nasty }))
    const { code, stdout, stderr } = await run(...args)
    expect(code).toBe(0)
    expect(stdout).not.toMatch(raw)
    expect(stdout.split('\n')).toHaveLength(3)
    expect(stderr).not.toMatch(raw)
    expect(stderr.split('\n')).toHaveLength(2)
  })

  it('gets no control characters from a transaction', async () => {
    server.script(always({ ...samples.transaction.sent, from_address_label: nasty, [nasty]: nasty, logs: [{ address: nasty }] }))
    const clean = (await run('tx', HASH)).stdout
    expect(clean).not.toMatch(raw)
    expect(clean).not.toMatch(/^c/m)
  })
})

describe('the reader', () => {
  const record = (i: number) => ({ id: String(i), description: 'x'.repeat(200) })
  it('stops early: an endless list ends silently', async () => {
    const endless: Answer = ({ cursor = '0' }, response) =>
      send(response, JSON.stringify({ result: Array.from({ length: 100 }, (_, i) => record(Number(cursor) * 100 + i)), cursor: String(Number(cursor) + 1) }))
    for (const how of [['--json'], ...nightly<string[]>([])]) {
      server.script(endless)
      const child = startHexline(['streams', '--all', ...how], { env: env() })
      child.stdout?.once('data', () => child.stdout?.destroy())
      expect(await child.ended).toMatchObject({ code: 0, stderr: '' })
    }
  })

  it('is gone before the transaction arrives', async () => {
    server.script(async (_, response) => {
      child.stdout?.destroy()
      send(response, JSON.stringify({ ...samples.transaction.sent, input: `0x${'00'.repeat(500_000)}` }))
    })
    const child = startHexline(['tx', HASH], { env: env() })
    expect(await child.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('is slow: all lines arrive', async () => {
    server.script(always({ result: Array.from({ length: 20_000 }, (_, i) => record(i)), cursor: null }))
    const child = startHexline(['streams', '--json'], { env: env() })
    child.stdout?.pause()
    await server.received(1)
    child.stdout?.resume()
    const { code, stdout, stderr } = await child.ended
    expect(code).toBe(0)
    expect(JSON.parse(stderr)).toEqual({ type: 'done', records: 20_000 })
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(Array.from({ length: 20_000 }, (_, i) => String(i)))
  })

  it.each(nightly('a long page'))('gets a table of %s', async () => {
    server.script(always({ result: Array.from({ length: 150_000 }, (_, i) => ({ id: String(i) })), cursor: null }))
    const { code, stdout } = await run('streams')
    expect({ code, lines: stdout.split('\n').length }).toEqual({ code: 0, lines: 150_002 })
  })
})
