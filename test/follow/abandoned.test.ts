import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { ForkingChain } from '../support/forking-chain.ts'
import { serve } from '../support/server.ts'

it('a stream that is abandoned while it catches up lets the process end', async () => {
  const server = await serve(new ForkingChain(1000).node())
  const program = fileURLToPath(new URL('../support/abandoning-process.ts', import.meta.url))
  const ended = promisify(execFile)(process.execPath, ['--import', 'tsx', program, server.url])
  onTestFinished(() => void ended.child.kill('SIGKILL'))
  const { stdout } = await ended
  expect(stdout).toBe('block\n')
})
