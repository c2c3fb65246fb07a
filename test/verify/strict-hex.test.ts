import { beforeAll, describe, expect, test } from 'vitest'
import { type Block, IntegrityError, type Receipt } from '../../src/index.ts'
import { verifyBlock } from '../../src/index-bulk.ts'
import { madeBlock } from '../support/decoded-blocks.ts'

/*
 * Node.js takes a character for the hex digit that its low byte is, and stops without an error
 * where text is not hex. A value that reads differently to others must not be proven.
 */

interface Pair {
  readonly block: Block<true>
  readonly receipts: Receipt[]
}

let made: Pair
beforeAll(async () => {
  made = await madeBlock()
})

/** Every different text in the block and its receipts, and where it first stands. */
function textsOf(value: unknown, path: string, texts = new Map<string, string>()): Map<string, string> {
  if (typeof value === 'string') texts.set(value, texts.get(value) ?? path)
  else if (typeof value === 'object' && value !== null) for (const [name, each] of Object.entries(value)) textsOf(each, `${path}.${name}`, texts)
  return texts
}

/** A copy with another text in every place of this one, so that no place contradicts another. */
function replaced<T>(value: T, text: string, other: string): T {
  if (value === text) return other as T
  if (Array.isArray(value)) return value.map((each) => replaced(each, text, other)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each, text, other)])) as T
}

const changes: readonly (readonly [string, (text: string) => string])[] = [
  ['a first digit of two bytes', (text) => `0x${String.fromCharCode(text.charCodeAt(2) + 0x100)}${text.slice(3)}`],
  ['a last digit of two bytes', (text) => `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) + 0xff00)}`],
  ['a last digit that is not hex', (text) => `${text.slice(0, -1)}g`],
  ['0X', (text) => text.replace('0x', '0X')],
]

describe.each(changes)('%s is refused', (_, change) => {
  test('in every field of a block and its receipts', async () => {
    const texts = [...textsOf(made, '')].filter(([text]) => text.length > 2)
    expect(texts.length).toBeGreaterThan(50)
    for (const [text, path] of texts) {
      const { block, receipts } = replaced(made, text, change(text))
      const outcome: unknown = await verifyBlock(block, receipts, { chainId: 1, senders: true }).catch((error) => error)
      expect(outcome, `${path}: ${text}`).toBeInstanceOf(IntegrityError)
    }
  })
})

test('the prefix 0X of empty data is refused', async () => {
  const { block, receipts } = replaced(made, '0x', '0X')
  await expect(verifyBlock(block, receipts)).rejects.toThrow('input: expected bytes in hex, found "0X"')
})

test('capitals of a checksum are not', async () => {
  const { block, receipts } = replaced(made, made.block.miner, `0x${made.block.miner.slice(2).toUpperCase()}`)
  expect((await verifyBlock(block, receipts, { senders: true })).skipped).toEqual([])
})
