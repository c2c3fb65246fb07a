import { pad, parseEther } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { minedReceipt } from '../support/mined.ts'
import { always, serve } from '../support/server.ts'
import { ask } from './ask.ts'
import { alice, deploy, mint, passOnCode, text, tokenCode, type Viem, viemOn } from './contracts.ts'

const wallet = `0x${'5a'.repeat(20)}` as const
let sandbox: Sandbox
let viem: Viem

beforeAll(async () => {
  sandbox = await startSandbox()
  viem = viemOn(sandbox.upstream)
})
afterAll(() => sandbox?.stop())

const pathOf = (hash: string) => `api/v2.2/transaction/${hash}`

it('is what viem reads from the same node, with receipt and logs', async () => {
  const token = await deploy(viem, tokenCode({ symbol: text('T') }))
  const hash = await mint(viem, token, wallet, 77n)
  const { status, body } = await ask(sandbox, `${pathOf(hash)}?chain=0x1`)
  expect(status).toBe(200)
  const transaction = await viem.getTransaction({ hash })
  const receipt = await viem.getTransactionReceipt({ hash })
  const block = await viem.getBlock({ blockHash: receipt.blockHash })
  const place = {
    block_timestamp: new Date(Number(block.timestamp) * 1000).toISOString(),
    block_number: block.number.toString(),
    block_hash: block.hash,
  }
  const nobody = { from_address_entity: '', from_address_entity_logo: '', from_address_label: '' }
  expect(body).toEqual({
    hash,
    nonce: String(transaction.nonce),
    transaction_index: String(transaction.transactionIndex),
    ...nobody,
    from_address: alice.toLowerCase(),
    to_address_entity: '',
    to_address_entity_logo: '',
    to_address: token,
    to_address_label: '',
    value: '0',
    gas: transaction.gas.toString(),
    gas_price: receipt.effectiveGasPrice.toString(),
    input: transaction.input,
    receipt_cumulative_gas_used: receipt.cumulativeGasUsed.toString(),
    receipt_gas_used: receipt.gasUsed.toString(),
    receipt_contract_address: '',
    receipt_root: '',
    receipt_status: '1',
    ...place,
    logs: receipt.logs.map(({ logIndex, data, topics }) => ({
      log_index: String(logIndex),
      transaction_hash: hash,
      transaction_index: '0',
      address: token,
      data,
      topic0: topics[0],
      topic1: topics[1],
      topic2: topics[2],
      topic3: '',
      ...place,
    })),
  })
  expect(body.logs).toHaveLength(1)
})

it('that creates a contract has the contract in place of a receiver', async () => {
  const hash = await viem.sendTransaction({ data: tokenCode({}) })
  const { contractAddress } = await minedReceipt(viem, hash)
  const { body } = await ask(sandbox, pathOf(hash))
  expect(body).toMatchObject({ to_address: '', receipt_contract_address: contractAddress?.toLowerCase(), logs: [] })
})

it('that failed is marked as such', async () => {
  const token = await deploy(viem, tokenCode({}))
  const hash = await viem.sendTransaction({ to: token, data: '0x12345678', gas: 100_000n })
  await minedReceipt(viem, hash)
  expect((await ask(sandbox, pathOf(hash))).body.receipt_status).toBe('0')
})

it('has its internal calls, nested ones too, only if they are requested', async () => {
  const [first, second] = [await deploy(viem, passOnCode), await deploy(viem, passOnCode)]
  const hash = await viem.sendTransaction({ to: first, value: parseEther('1.5'), data: pad(second), gas: 500_000n })
  const { blockNumber, blockHash } = await minedReceipt(viem, hash)
  const { body } = await ask(sandbox, `${pathOf(hash)}?include=internal_transactions`)
  const call = {
    transaction_hash: hash,
    block_number: Number(blockNumber),
    block_hash: blockHash,
    type: 'CALL',
    input: '0x',
    output: '0x',
    value: '1500000000000000000',
  }
  // The second contract gets no input, and so forwards everything to address 0.
  expect(body.internal_transactions).toEqual([
    { ...call, from: first, to: second, gas: expect.stringMatching(/^\d+$/), gas_used: expect.stringMatching(/^\d+$/) },
    { ...call, from: second, to: `0x${'0'.repeat(40)}`, gas: expect.stringMatching(/^\d+$/), gas_used: expect.stringMatching(/^\d+$/) },
  ])
  expect((await ask(sandbox, pathOf(hash))).body).not.toHaveProperty('internal_transactions')
})

it('that is unknown or pending is 404', async () => {
  expect(await ask(sandbox, pathOf(`0x${'1'.repeat(64)}`))).toMatchObject({ status: 404, body: { message: 'no transaction with this hash is in a block' } })
  await viem.setAutomine(false)
  const hash = await viem.sendTransaction({ to: wallet, value: 1n })
  expect((await ask(sandbox, pathOf(hash))).status).toBe(404)
  await viem.mine({ blocks: 1 })
  await viem.setAutomine(true)
  expect((await ask(sandbox, pathOf(hash))).status).toBe(200)
})

it.each([
  [pathOf('0x12'), 400, 'transaction_hash must be 32 bytes in hex'],
  [`${pathOf(`0x${'1'.repeat(64)}`)}?include=logs`, 400, 'include must be internal_transactions'],
  [`${pathOf(`0x${'1'.repeat(64)}`)}?chain=base`, 400, 'this sandbox serves only eth'],
])('%s is refused with %d', async (path, status, message) => {
  expect(await ask(sandbox, path)).toMatchObject({ status, body: { message } })
})

it('a failing node is 502, and its URL is not shown', async () => {
  const node = await serve(always({ jsonrpc: '2.0', id: 1, result: '0x1' }))
  await using other = await startSandbox({ upstream: `${node.url}/s3cret-key` })
  node.script(always('{"message":"no such thing as s3cret-key"}', { status: 404 }))
  const { status, body } = await ask(other, pathOf(`0x${'1'.repeat(64)}`))
  expect(status).toBe(502)
  expect(body.message).toMatch(/^the node behind this sandbox: 127\.0\.0\.1:\d+ answered HTTP 404/)
  expect(JSON.stringify(body)).not.toContain('s3cret')
})
