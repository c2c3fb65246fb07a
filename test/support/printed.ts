import { Writable } from 'node:stream'

/** A standard output or error that keeps what is written; a terminal with these properties. */
export function printedStream(terminal: { isTTY?: boolean; columns?: number } = {}) {
  let printed = ''
  const stream = Object.assign(
    new Writable({
      write(text, _, done) {
        printed += text
        done()
      },
    }),
    terminal,
  )
  /** What was written since this was asked last. */
  const taken = () => {
    const text = printed
    printed = ''
    return text
  }
  return { stream, taken }
}
