import diagnostics from 'node:diagnostics_channel'
import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished, vi } from 'vitest'
import { eventually } from './eventually.ts'

/** A program of `examples` that runs in this process. */
export interface RunningExample {
  /** Lines of its standard output and of its standard error so far. */
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  /** The first line of its output that matches, once it is there. */
  line(pattern: RegExp): Promise<string>
  /** Ends it as Ctrl-C does. */
  interrupt(): void
  /** Its exit code, once its module has run to its end. What it listens to may go on. */
  readonly ended: Promise<number>
}

let runs = 0

/**
 * Runs a program as `node examples/NAME.ts ARGS` does, but in this process, which costs a fraction:
 * with its own arguments, environment, output, exit code and signals. One at a time, in a test that
 * waits for its end.
 */
export function runExample(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningExample {
  const [stdout, stderr]: [string[], string[]] = [[], []]
  const { argv } = process
  const before = new Set(process.listeners('SIGINT'))
  const own = () => process.listeners('SIGINT').filter((listener) => !before.has(listener))
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => void stdout.push(words.join(' ')))
  const error = vi.spyOn(console, 'error').mockImplementation((...words) => void stderr.push(words.join(' ')))
  const unsubscribe = watchSubscriptions()
  onTestFinished(() => {
    log.mockRestore()
    error.mockRestore()
    unsubscribe()
  })
  process.argv = [process.execPath, `examples/${name}.ts`, ...args]
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value)
  const ended = (async () => {
    try {
      // A module runs once; each of these is another one.
      await import(/* @vite-ignore */ `../../examples/${name}.ts?${++runs}`)
      return Number(process.exitCode ?? 0)
    } finally {
      process.exitCode = undefined
      process.argv = argv
      vi.unstubAllEnvs()
    }
  })()
  return {
    stdout,
    stderr,
    ended,
    line: (pattern) =>
      eventually(() => {
        const line = stdout.find((each) => pattern.test(each))
        if (line === undefined) throw new Error(`no line ${pattern} in ${[...stdout, ...stderr].join('\n')}`)
        return line
      }),
    interrupt() {
      for (const listener of own()) {
        process.off('SIGINT', listener)
        listener('SIGINT')
      }
    },
  }
}

/**
 * Notes what is subscribed to from here on. The function that it returns ends that, as the end of
 * the program's process would.
 */
function watchSubscriptions(): () => void {
  const noted: Parameters<typeof diagnostics.subscribe>[] = []
  const subscribe = vi.spyOn(diagnostics, 'subscribe').mockImplementation((name, listener) => {
    noted.push([name, listener])
    diagnostics.channel(name).subscribe(listener)
  })
  syncBuiltinESMExports()
  return () => {
    subscribe.mockRestore()
    syncBuiltinESMExports()
    for (const [name, listener] of noted) diagnostics.unsubscribe(name, listener)
  }
}
