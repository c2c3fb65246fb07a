/** What a program wrote to a terminal, and when. */
export interface Piece {
  /** From the start of the recording. */
  readonly ms: number
  readonly text: string
}

/** The lines of a terminal from a moment on. */
export interface Frame {
  readonly ms: number
  readonly lines: readonly string[]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
const token = /\x1b\[([?\d;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+/g

/**
 * What a terminal shows of these pieces, without colours: text, new lines, and what the command
 * uses to replace a line: going back to its start, erasing the rest of it or of the screen, going
 * up, hiding the cursor.
 * Throws for any other control sequence. The terminal does not scroll or wrap: a text that is wider
 * than `columns` throws, too.
 */
export function framesOf(pieces: readonly Piece[], columns: number): Frame[] {
  const lines: string[] = ['']
  let [row, column] = [0, 0]
  const line = () => lines[row] as string
  const put = (text: string) => {
    lines[row] = line().padEnd(column).slice(0, column) + text + line().slice(column + text.length)
    column += text.length
    if (column > columns) throw new Error(`wider than ${columns} columns: ${JSON.stringify(line())}`)
  }
  const obey = (sequence: string, parameter: string, command: string) => {
    const number = Number(parameter || 1)
    if (command === 'G') column = number - 1
    else if (command === 'A') row = Math.max(0, row - number)
    else if (command === 'K' && parameter === '2') lines[row] = ''
    else if (command === 'K') lines[row] = line().slice(0, column)
    else if (command === 'J') lines.splice(row, lines.length, line().slice(0, column))
    // The cursor is hidden or shown, or wrapping of lines is turned off or on.
    else if (!/^\?(25|7)[hl]$/.test(parameter + command)) throw new Error(`an unknown control sequence: ${JSON.stringify(sequence)}`)
  }
  const frames: Frame[] = []
  for (const { ms, text } of pieces) {
    for (const [all, parameter = '', command = ''] of text.matchAll(token)) {
      if (all === '\r') column = 0
      else if (all === '\n') {
        row++
        column = 0
        if (row === lines.length) lines.push('')
      } else if (command !== '') obey(all, parameter, command)
      else put(all)
    }
    frames.push({ ms, lines: lines.map((each) => each.trimEnd()) })
  }
  return frames
}

/**
 * Without frames that show the same as the one before, or stand for less than `leastMs`. The last
 * one stays.
 */
export function fewerFrames(frames: readonly Frame[], leastMs: number): Frame[] {
  const lasting = frames.filter(({ ms }, i) => (frames[i + 1]?.ms ?? Number.POSITIVE_INFINITY) - ms >= leastMs)
  const shown = ({ lines }: Frame) => lines.join('\n').trimEnd()
  return lasting.filter((frame, i) => i === 0 || shown(frame) !== shown(lasting[i - 1] as Frame))
}
