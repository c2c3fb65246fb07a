import { describe, expectTypeOf, test } from 'vitest'
import {
  type AnyHexlineError,
  type ClosedError,
  type ErrorKind,
  type HexlineError,
  type HttpError,
  type IntegrityError,
  isHexlineError,
  type LimitError,
  type NetworkError,
  RpcError,
  type ServiceError,
} from '../src/index.ts'

describe('kind narrows an error to its classes', () => {
  const error = {} as AnyHexlineError

  test('to one class, where only that has it', () => {
    if (error.kind === 'network') expectTypeOf(error).toEqualTypeOf<NetworkError>()
    if (error.kind === 'closed') expectTypeOf(error).toEqualTypeOf<ClosedError>()
    if (error.kind === 'integrity') expectTypeOf(error).toEqualTypeOf<IntegrityError>()
  })

  test('to those of a server’s answer', () => {
    if (error.kind === 'execution') expectTypeOf(error).toEqualTypeOf<RpcError | HttpError | ServiceError>()
    if (error.kind === 'response-too-large') expectTypeOf(error).toEqualTypeOf<RpcError | HttpError | ServiceError | LimitError>()
  })

  test('narrows a caught value with isHexlineError', () => {
    const caught: unknown = error
    if (isHexlineError(caught) && caught.kind === 'network') expectTypeOf(caught.unsent).toEqualTypeOf<boolean>()
  })

  test('every kind has a class, and every class is a HexlineError', () => {
    expectTypeOf<AnyHexlineError['kind']>().toEqualTypeOf<ErrorKind>()
    expectTypeOf<AnyHexlineError>().toExtend<HexlineError>()
  })

  test('a class does not take a kind that it cannot have', () => {
    // @ts-expect-error A node that answers is not unreachable.
    new RpcError({ code: 1, message: 'no' }, { kind: 'network' })
  })
})
