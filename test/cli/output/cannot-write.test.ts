import { describe, expect, it } from 'vitest'
import { cannotWrite } from '../../../src/cli/output/cannot-write.ts'

const failure = (code: string) => Object.assign(new Error(`${code}: as Node.js says it`), { code })

describe('the error for an output that cannot be written', () => {
  it.each([
    ['says that nothing of it is kept, if the file is removed', undefined, 'out cannot be written: disk quota exceeded; nothing of it is kept'],
    ['says that nothing was written', { lines: 0, isCut: false }, 'out cannot be written: disk quota exceeded; nothing was written'],
    ['says no more if part of a line was written', { lines: 0, isCut: true }, 'out cannot be written: disk quota exceeded'],
    ['says no more if lines were written', { lines: 2, isCut: false }, 'out cannot be written: disk quota exceeded'],
  ])('%s', (_, kept, message) => {
    expect(cannotWrite('out', failure('EDQUOT'), kept).message).toBe(message)
  })
})
