import { onTestFinished } from 'vitest'

/** The messages of errors that nobody catches, from now to the end of the test. */
export function uncaughtErrors(): readonly string[] {
  const messages: string[] = []
  const others = process.listeners('uncaughtException')
  const onError = (error: Error) => void messages.push(error.message)
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', onError)
  onTestFinished(() => {
    process.off('uncaughtException', onError)
    for (const other of others) process.on('uncaughtException', other)
  })
  return messages
}
