import { describe, expect, test } from 'vitest'
import { type AnswerKind, type ErrorKind, HexlineError, HttpError, MalformedReplyError, NetworkError, RpcError, TimeoutError } from '../../src/errors.ts'
import {
  type EndpointState,
  endpointState,
  isAmbiguous,
  isFailure,
  isStall,
  isStrained,
  isThrottled,
  isTooLarge,
  mayBeHeld,
  mayHaveRun,
  mayRepeat,
  refusesEverybody,
} from '../../src/rpc/failure-kinds.ts'

const http = (status: number, kind: AnswerKind = 'server') => new HttpError({ status, headers: {}, body: '' }, { kind })
const rpc = (kind: AnswerKind, status?: number) => new RpcError({ code: -32000, message: 'no' }, { kind, status })

/** The meaning of each kind, from the node itself. */
const meanings: Record<ErrorKind, [repeat: boolean | 'elsewhere', mayHaveRun: boolean, endpoint: EndpointState]> = {
  'rate-limit': [true, false, 'throttles'],
  overloaded: [true, false, 'throttles'],
  network: [true, true, 'fails'],
  timeout: [true, true, 'fails'],
  malformed: [true, true, 'fails'],
  server: [true, true, 'fails'],
  lagging: [true, true, 'alive'],
  pruned: ['elsewhere', false, 'alive'],
  'batch-too-large': [false, false, 'alive'],
  'request-too-large': [false, false, 'alive'],
  'response-too-large': [false, true, 'alive'],
  'range-too-large': [false, false, 'alive'],
  execution: [false, true, 'alive'],
  invalid: [false, true, 'alive'],
  unsupported: [false, true, 'alive'],
  'not-found': [false, true, 'alive'],
  auth: ['elsewhere', false, 'refuses'],
  quota: ['elsewhere', false, 'refuses'],
  integrity: [false, true, 'alive'],
  closed: [false, true, 'alive'],
}
const kinds = Object.keys(meanings) as ErrorKind[]

test.each(kinds)('%s means one thing for repetition, for calls that must not run twice, and for the endpoint', (kind) => {
  const error = rpc(kind as AnswerKind)
  expect([mayRepeat(error), mayHaveRun(error), endpointState(error)]).toEqual(meanings[kind])
})

test('a kind of another version of hexline means what `server` means', () => {
  const error = new HexlineError('', 'of-tomorrow' as ErrorKind)
  expect([mayRepeat(error), mayHaveRun(error), endpointState(error), isThrottled(error)]).toEqual([...meanings.server, false])
})

test.each<[string, (error: HexlineError) => boolean, readonly ErrorKind[]]>([
  ['throttling', isThrottled, ['rate-limit', 'overloaded']],
  ['a refusal of every call with the key', ({ kind }) => refusesEverybody(kind), ['rate-limit', 'overloaded', 'auth', 'quota']],
  ['too large for one POST', isTooLarge, ['batch-too-large', 'request-too-large', 'response-too-large']],
  ['ambiguous about whether the call ran', isAmbiguous, ['network', 'timeout', 'malformed', 'server', 'response-too-large', 'closed']],
])('%s', (_, is, expected) => {
  expect(kinds.filter((kind) => is(rpc(kind as AnswerKind)))).toEqual(expected)
})

describe('whether a call certainly did not run', () => {
  test.each<[string, HexlineError, boolean]>([
    ['a refused connection', new NetworkError('', { unsent: true }), true],
    ['a connection that was cut', new NetworkError(''), false],
    ['a deadline that passed in line', new TimeoutError('', { unsent: true }), true],
    ['a timeout of the reply', new TimeoutError(''), false],
    ['a refusal by status', http(429, 'rate-limit'), true],
    ['a refusal by status and message', rpc('rate-limit', 503), true],
    ['a gateway that says "overloaded" with another status', http(504, 'overloaded'), false],
    ['an error object with a failing status', rpc('overloaded', 502), false],
    ['a message in a body that is not JSON-RPC', new MalformedReplyError('', { kind: 'rate-limit' }), false],
    ['a key that is refused by status', http(401, 'auth'), true],
    ['a key that is refused with another status', http(500, 'auth'), false],
  ])('%s', (_, error, didNotRun) => {
    expect(mayHaveRun(error)).toBe(!didNotRun)
  })
})

test.each<[string, HexlineError, boolean, boolean]>([
  ['a cut connection', new NetworkError(''), true, false],
  ['a refused connection', new NetworkError('', { unsent: true }), false, false],
  ['a missing reply', new TimeoutError(''), true, false],
  ['a reply that stopped in the middle', new TimeoutError('', { stalled: true }), false, true],
  ['HTTP 503', http(503), true, false],
  ['HTTP 500', http(500), false, false],
  ['"overloaded"', rpc('overloaded'), true, false],
  ['a rate limit', rpc('rate-limit'), false, false],
])('%s is, or is not, a sign of too many calls at once, or a stall', (_, error, strained, stall) => {
  expect([isStrained(error), isStall(error)]).toEqual([strained, stall])
})

test('a gateway that answers with its own status may still hold the call', () => {
  const statuses = [400, 429, 500, 503, 529]
  expect(statuses.filter((status) => mayBeHeld(http(status), true))).toEqual([429, 503, 529])
  expect(statuses.filter((status) => mayBeHeld(rpc('rate-limit', status), true))).toEqual([429, 503, 529])
  expect(mayBeHeld(http(429), false)).toBe(false)
  expect(mayBeHeld(rpc('rate-limit'), true)).toBe(false)
  expect(mayBeHeld(new NetworkError(''), true)).toBe(false)
})

test('only hexline errors are failures', () => {
  expect([new HexlineError('', 'server'), rpc('execution'), new Error('a bug'), 'aborted', undefined].map(isFailure)).toEqual([true, true, false, false, false])
})
