import { expect, it } from 'vitest'
import { inShell } from '../support/command.ts'

/** Descriptor 4 is a pipe whose reader has certainly ended. */
const unread = 'dir=$(mktemp -d) && mkfifo $dir/pipe && exec 3<>$dir/pipe 4>$dir/pipe 3>&- && rm -r $dir'

it.each([
  ['help', '$hexline --help >&4', 0],
  ['the version', '$hexline --version >&4', 0],
  ['a usage error', '$hexline nothing 2>&4', 2],
])('%s that nobody reads changes no exit code, and prints no stack', async (_, line, code) => {
  expect(await inShell(`${unread} && ${line}`)).toEqual({ code, stdout: '', stderr: '' })
})
