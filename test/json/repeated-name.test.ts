import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findRepeatedName, repeatedName } from '../../src/json/repeated-name.ts'
import { runs } from '../support/runs.ts'

describe('a name that an object has twice', () => {
  const found = (json: string) => repeatedName(Buffer.from(json))

  it('is found in any object, however it is written', () => {
    expect(found('{"a":1,"a":1}')).toBe('a')
    expect(found('{"a":{"b":1,"c":[{"b":2 , "d":3,"b" :4}]}}')).toBe('b')
    expect(found('{"\\u0061":1,"a":2}')).toBe('a')
    expect(found('[{},{"é":1,"é":2}]')).toBe('é')
  })

  it('is found with the steps to its object', () => {
    const steps = (json: string) => findRepeatedName(Buffer.from(json))?.path
    expect(steps('{"a":1,"a":2}')).toEqual([])
    expect(steps('{"x":[[1,2],{"a":[3,4],"b":{}}, {"a":{"c":1,"c":2}}]}')).toEqual(['x', 2, 'a'])
  })

  it('is not found where the objects differ, or the second is a value', () => {
    fc.assert(
      fc.property(fc.json(), (json) => found(json) === undefined),
      runs(200),
    )
    expect(found('{"a":{"a":"a","b":["a",{"a":1}]},"b":{"a":2}}')).toBeUndefined()
    expect(found('{"a":"b","b":":","c":"\\"a\\":"}')).toBeUndefined()
  })
})
