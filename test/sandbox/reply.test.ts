import { expect, it } from 'vitest'
import { json, Refusal } from '../../src/sandbox/reply.ts'

it('a reply is JSON in UTF-8, with its own headers', () => {
  const { status, headers, body } = json(200, { name: 'ü' }, { allow: 'GET' })
  expect([status, headers]).toEqual([200, { 'content-type': 'application/json', allow: 'GET' }])
  expect(body).toEqual(Buffer.from('{"name":"ü"}', 'utf8'))
})

it('a refusal is an error whose reply has its message, and lists several problems', () => {
  const refusal = new Refusal(429, 'too fast', { headers: { 'retry-after': '1' }, details: ['a', 'b'] })
  expect(refusal.message).toBe('too fast')
  expect(refusal.reply).toMatchObject({ status: 429, headers: { 'content-type': 'application/json', 'retry-after': '1' } })
  expect(JSON.parse(refusal.reply.body.toString())).toEqual({ message: 'too fast', details: ['a', 'b'] })
  expect(new Refusal(404, 'no such path').reply.body.toString()).toBe('{"message":"no such path"}')
})
