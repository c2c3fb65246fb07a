import { expect, test } from 'vitest'
import { nearestName } from '../src/nearest-name.ts'

const names = ['from', 'to', 'gas', 'batch', 'maxFeePerGas', 'maxPriorityFeePerGas']

test.each([
  ['form', 'from'],
  ['From', 'from'],
  ['gaz', 'gas'],
  ['bacth', 'batch'],
  ['batchs', 'batch'],
  ['maxFeePerGass', 'maxFeePerGas'],
  ['macFeePerGaz', 'maxFeePerGas'],
])('%s: suggests %s', (wrong, meant) => {
  expect(nearestName(wrong, names)).toBe(meant)
})

test.each(['', 'a', 'ot', 'gsas!', 'fork!', 'retry', 'maxFee', '__proto__'])('suggests nothing for %o', (wrong) => {
  expect(nearestName(wrong, names)).toBeUndefined()
})
