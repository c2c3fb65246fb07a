import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const file = new URL('../../src/cli/signals.ts', import.meta.url).href
const cwd = fileURLToPath(new URL('../../', import.meta.url))

/**
 * A process that prints `ready`, and then what is said about its signals. `source` has `onSignals`
 * and `say`.
 */
async function start(source: string): Promise<{ child: ChildProcess; says(): Promise<string> }> {
  const program = `import { onSignals } from ${JSON.stringify(file)}
    const say = (...words) => process.stdout.write(words.join(' ') + '\\n')
    process.stdin.resume()
    ${source}
    say('ready')`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const says = async () => String((await once(child.stdout, 'data'))[0]).trim()
  expect(await says()).toBe('ready')
  return { child, says }
}

describe('a signal', () => {
  it.each([
    ['SIGINT', 'Ctrl-C 130'],
    ['SIGTERM', 'SIGTERM 143'],
  ] as const)('%s is reported with its name and exit code, and the process runs on; a second one ends it', async (signal, reported) => {
    const { child, says } = await start('onSignals(say)')
    child.kill(signal)
    expect(await says()).toBe(reported)
    const ended = once(child, 'exit')
    child.kill(signal)
    expect(await ended).toEqual([null, signal])
  })

  it('SIGHUP is reported, too; a second one changes nothing, since shell and system both send it', async () => {
    const { child, says } = await start('onSignals(say)')
    child.kill('SIGHUP')
    expect(await says()).toBe('SIGHUP 129')
    child.kill('SIGHUP')
    child.kill('SIGTERM')
    expect(await says()).toBe('SIGTERM 143')
  })

  it('SIGHUP ends a process of Node.js in spite of nohup, so that listening takes nothing away', async () => {
    const child = spawn('nohup', [process.execPath, '-e', 'console.log("ready"); setInterval(() => {}, 1000)'], { stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    child.kill('SIGHUP')
    expect(await once(child, 'exit')).toEqual([null, 'SIGHUP'])
  })

  it.each(['SIGINT', 'SIGHUP'] as const)('%s ends the process as usual once it is no longer listened to', async (signal) => {
    const { child } = await start('onSignals(say)()')
    const ended = once(child, 'exit')
    child.kill(signal)
    expect(await ended).toEqual([null, signal])
  })
})
