import { expect, it } from 'vitest'
import { collectibleCode, deployment, tokenCode } from '../../demo/contracts.ts'

it.each([tokenCode, collectibleCode])('a listing becomes its bytes alone', (code) => {
  expect(code).toMatch(/^(?:[0-9a-f]{2})+$/)
  expect(code).toContain('ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')
})

it('the jump of the token leads to its JUMPDEST', () => {
  const target = Number(`0x${/6048/.exec(tokenCode)?.[0].slice(2)}`)
  expect(tokenCode.slice(2 * target, 2 * target + 2)).toBe('5b')
})

it('a deployment copies the code after its own instructions, and returns it', () => {
  const init = `0x60${(tokenCode.length / 2).toString(16)}80600b6000396000f3`
  expect(deployment(tokenCode)).toBe(init + tokenCode)
  expect((init.length - 2) / 2).toBe(0x0b)
  expect(deployment('00')).toBe('0x600180600b6000396000f300')
})
