import { expect, test } from 'vitest'
import { withCallersStack } from '../../src/rpc/callers-stack.ts'
import { errorOf } from '../support/server.ts'

test('the stack of an error shows those who await it, and not where it was made', async () => {
  function whereItWasMade() {
    return new Error('no connection')
  }
  async function theCaller(failed: Promise<never>) {
    await failed.catch((error) => {
      throw withCallersStack(error)
    })
  }
  const error = await errorOf<Error>(theCaller(Promise.reject(whereItWasMade())))
  expect(error.stack).toMatch(/^Error: no connection\n/)
  expect(error.stack).toContain('theCaller')
  expect(error.stack).not.toContain('whereItWasMade')
})
