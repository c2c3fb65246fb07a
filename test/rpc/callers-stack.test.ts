import { expect, test } from 'vitest'
import { withCallersStack } from '../../src/rpc/callers-stack.ts'
import { errorOf } from '../support/server.ts'

test('the stack of an error shows its awaiting callers, not where it was made', async () => {
  function whereItWasMade() {
    return new Error('no connection')
  }
  function toldByHexline(error: Error) {
    throw withCallersStack(error, toldByHexline)
  }
  async function theCaller(failed: Promise<never>) {
    await failed.catch(toldByHexline)
  }
  const error = await errorOf<Error>(theCaller(Promise.reject(whereItWasMade())))
  expect(error.stack).toMatch(/^Error: no connection\n/)
  expect(error.stack).toContain('theCaller')
  expect(error.stack).not.toMatch(/whereItWasMade|toldByHexline/)
})
