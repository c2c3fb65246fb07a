import { describe, expectTypeOf, test } from 'vitest'
import type { CallEvent, CallStartEvent, ErrorKind, Events, PostEvent, PostStartEvent, RetryEvent, RouteEvent, ThrottleEvent } from '../../src/index.ts'

describe('the types of the events', () => {
  test('are keyed by the names of the channels', () => {
    expectTypeOf<Events['hexline:call:start']>().toEqualTypeOf<CallStartEvent>()
    expectTypeOf<Events['hexline:post:start']>().toEqualTypeOf<PostStartEvent>()
    expectTypeOf<Events['hexline:call']>().toEqualTypeOf<CallEvent>()
    expectTypeOf<Events['hexline:post']>().toEqualTypeOf<PostEvent>()
    expectTypeOf<Events['hexline:retry']>().toEqualTypeOf<RetryEvent>()
    expectTypeOf<Events['hexline:throttle']>().toEqualTypeOf<ThrottleEvent>()
    expectTypeOf<Events['hexline:route']>().toEqualTypeOf<RouteEvent>()
    expectTypeOf<keyof Events>().toEqualTypeOf<
      'hexline:call:start' | 'hexline:call' | 'hexline:post:start' | 'hexline:post' | 'hexline:retry' | 'hexline:throttle' | 'hexline:route'
    >()
  })

  test('are discriminated by what happened', () => {
    expectTypeOf<Extract<RouteEvent, { change: 'moved' }>['to']>().toEqualTypeOf<string>()
    expectTypeOf<Extract<RouteEvent, { change: 'left-out' }>['forMs']>().toEqualTypeOf<number>()
    expectTypeOf<Extract<RouteEvent, { change: 'back' }>>().toEqualTypeOf<{ readonly change: 'back'; readonly endpoint: string }>()
    expectTypeOf<CallEvent['kind']>().toEqualTypeOf<ErrorKind | undefined>()
    expectTypeOf<RetryEvent['kind']>().toEqualTypeOf<ErrorKind>()
  })
})
