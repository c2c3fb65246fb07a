import { id } from 'ethers'
import { describe, expect, it } from 'vitest'
import { eventTopic } from '../../src/cli/event-topic.ts'

describe('the topic of an event', () => {
  it.each([
    ['Transfer(address,address,uint256)', 'Transfer(address,address,uint256)'],
    ['event Transfer(address indexed from, address indexed to, uint value);', 'Transfer(address,address,uint256)'],
    ['Fill((address,uint,(int8[2],bytes)[])[] indexed orders, bytes32 id, string)', 'Fill((address,uint256,(int8[2],bytes)[])[],bytes32,string)'],
    ['Swap(tuple(int a, bool b)[3] x)', 'Swap((int256,bool)[3])'],
    ['  Sync ( ) ', 'Sync()'],
    ['$x_1(uint112,function)', '$x_1(uint112,function)'],
    [`T(${'('.repeat(64)}bool${')'.repeat(64)})`, `T(${'('.repeat(64)}bool${')'.repeat(64)})`],
  ])('%s is that of %s', (text, canonical) => {
    expect(eventTopic(text)).toBe(id(canonical))
  })

  it.each([
    'Transfer',
    'Transfer(adress)',
    'Transfer(address',
    'Transfer(uint7)',
    'T(address,)',
    'T((address)',
    'T(address from to)',
    '',
    'T(bytes33)',
    '1(bool)',
    `T(${'('.repeat(20_000)}${')'.repeat(20_000)})`,
  ])('is refused for %s', (text) => {
    expect(() => eventTopic(text)).toThrow("--event: expected an event such as 'Transfer(address,address,uint256)'")
  })
  it('is refused for an anonymous event, whose logs do not have it', () => {
    expect(() => eventTopic('Note(uint112) anonymous;')).toThrow('--event: expected an event that is not anonymous; use --topic')
  })
})
