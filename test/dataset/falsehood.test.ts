import { CodecError, IntegrityError } from 'hexline'
import { expect, it } from 'vitest'
import { falsehood, undecodable } from '../../src/dataset/falsehood.ts'
import { plain } from '../../src/verify/mismatch.ts'

it('names file, block and field, with what was expected and found', () => {
  const hash = `0x${'ab'.repeat(32)}`
  const error = falsehood({ file: 'logs/1', block: 5n }, 'logs[3].data', hash, 'text', ', and more')
  expect(error).toBeInstanceOf(IntegrityError)
  expect(error).toMatchObject({ kind: 'integrity', file: 'logs/1', block: 5n, field: 'logs[3].data', expected: hash, found: '"text"' })
  expect(error.message).toBe(`logs/1: block 5: logs[3].data: expected ${hash}, found "text", and more`)
})

it('a file without a block; a description; a value that cannot be printed as it is', () => {
  const error = falsehood({ file: 'f' }, 'file', plain('a file'), '\u001b[31m')
  expect(error.message).toBe('f: file: expected a file, found "\\u001b[31m"')
  expect('block' in error).toBe(false)
})

it('what a decoder refuses; other errors stay as they are', () => {
  expect(undecodable({ file: 'f', block: 1n }, 'row 2', new CodecError('gas', 'a hex quantity', '"x"'))).toMatchObject({
    message: 'f: block 1: row 2.gas: expected a hex quantity, found "x"',
    field: 'row 2.gas',
  })
  const other = new Error('other')
  expect(undecodable({ file: 'f' }, '', other)).toBe(other)
})
