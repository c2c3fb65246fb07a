import type { Frame } from './recorded-screen.ts'

/** Sizes in pixels, for a monospaced font of 14. */
const COLUMN = 8.4
const LINE = 19
const EDGE = 16
/** How long the last frame stands before it begins again. */
const REST_MS = 6000

interface Look {
  readonly columns: number
  /** What a reader hears who does not see it. */
  readonly title: string
}

/** The text of a line while it is there. */
interface Version {
  readonly line: number
  readonly text: string
  readonly from: number
  /** Undefined: to the end. */
  readonly to: number | undefined
}

/**
 * A recording as an SVG that plays without end, in the speed in which it was recorded. Who prefers
 * reduced motion gets the last frame.
 */
export function recordingSvg(frames: readonly Frame[], { columns, title }: Look): string {
  const all = versionsOf(frames)
  const end = Math.round((frames.at(-1)?.ms ?? 0) + REST_MS)
  const rows = Math.max(...all.map(({ line }) => line)) + 1
  const [width, height] = [Math.ceil(columns * COLUMN) + 2 * EDGE, rows * LINE + 2 * EDGE]
  const percent = (ms: number) => `${Number(((100 * ms) / end).toFixed(2))}%`
  const keyframes = all.map(({ from, to }, i) => {
    const steps = [from > 0 ? '0%{opacity:0}' : '', `${percent(from)}{opacity:1}`, to === undefined ? '' : `${percent(to)},to{opacity:0}`]
    return from === 0 && to === undefined ? '' : `@keyframes k${i}{${steps.join('')}}`
  })
  const texts = all.map(({ line, text, from, to }, i) => {
    const indent = text.length - text.trimStart().length
    const [x, y] = [EDGE + indent * COLUMN, EDGE + line * LINE + 14]
    const shown = text.slice(indent)
    const [, prompt, rest] = /^(\$ )(.*)$/.exec(shown) ?? []
    const content = prompt === undefined ? escaped(shown) : `<tspan class="p">${prompt}</tspan>${escaped(rest ?? '')}`
    const moves = from === 0 && to === undefined ? '' : ` style="animation-name:k${i}"`
    // The same columns in every font.
    const length = ` textLength="${px(shown.length * COLUMN)}"`
    return `<text x="${px(x)}" y="${y}"${length}${to === undefined ? '' : ' class="o"'}${moves}>${content}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e6e6;white-space:pre;animation:${end}ms step-end infinite}
.p{fill:#7bd88f}
.o{opacity:0}
${keyframes.filter(Boolean).join('\n')}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#1b1f27" stroke="#4a5160"/>
${texts.join('\n')}
</svg>
`
}

function versionsOf(frames: readonly Frame[]): Version[] {
  const rows = Math.max(...frames.map(({ lines }) => lines.length))
  return Array.from({ length: rows }, (_, line) => {
    const versions: Version[] = []
    let last = ''
    for (const { ms, lines } of frames) {
      const text = lines[line] ?? ''
      if (text === last) continue
      const before = versions.at(-1)
      if (before !== undefined && before.to === undefined) versions[versions.length - 1] = { ...before, to: ms }
      if (text !== '') versions.push({ line, text, from: ms, to: undefined })
      last = text
    }
    return versions
  }).flat()
}

function px(value: number): number {
  return Number(value.toFixed(1))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
