import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { recordingSvg } from '../../demo/recording-svg.ts'
import { createProgram } from '../../src/cli/program.ts'
import { textOf } from '../support/pages.ts'

const frames = [
  { ms: 0, lines: ['$ a <b> & "c"'] },
  { ms: 1000, lines: ['$ a <b> & "c"', '50 %'] },
  { ms: 2000, lines: ['$ a <b> & "c"', '  done'] },
]
const svg = recordingSvg(frames, { columns: 40, title: 'what it shows' })
const animated = (text: string) => new RegExp(`<text [^>]*style="animation-name:(k\\d+)"[^>]*>${text}</text>`).exec(svg)

describe('a recording', () => {
  it('shows each text from when it came until it went', () => {
    expect(svg).toContain(`@keyframes ${animated('50 %')?.[1]}{0%{opacity:0}12.5%{opacity:1}25%,to{opacity:0}}`)
    expect(svg).toContain(`@keyframes ${animated('done')?.[1]}{0%{opacity:0}25%{opacity:1}}`)
    expect(svg).toContain('animation:8000ms step-end infinite')
  })

  it('has the last frame for readers who prefer reduced motion', () => {
    expect(svg).toContain('@media (prefers-reduced-motion:reduce){text{animation:none}}')
    expect(animated('50 %')?.[0], 'hidden without its animation').toContain('class="o"')
    expect(animated('done')?.[0]).not.toContain('class="o"')
  })

  it('has texts in their columns, as XML, and a title', () => {
    expect(svg).toContain('<text x="16" y="30" textLength="109.2"><tspan class="p">$ </tspan>a &lt;b> &amp; &quot;c&quot;</text>')
    expect(svg).toMatch(/<text x="32.8" y="49" textLength="33.6"[^>]*>done</)
    expect(svg).toContain('role="img" aria-label="what it shows"')
  })
})

describe('docs/export.svg', () => {
  const file = 'docs/export.svg'
  const text = textOf(file)

  it('is small, and stands still where that is preferred', () => {
    expect(statSync(fileURLToPath(new URL(`../../${file}`, import.meta.url))).size).toBeLessThanOrEqual(60_000)
    expect(text).toContain('prefers-reduced-motion')
  })

  it('runs commands that exist, with options that exist', async () => {
    const commands = [...text.matchAll(/\$ <\/tspan>hexline (.+)<\/text>/g)].map(([, args]) => (args as string).split(' '))
    expect(commands.map(([name]) => name)).toEqual(['export', 'verify'])
    for (const args of commands) {
      const program = await createProgram(
        '0.0.0',
        { tell() {}, warn() {}, fail() {}, explain: String },
        { args: [], env: {}, stdout: process.stdout, stderr: process.stderr },
        () => {},
      )
      let isRun = false
      for (const command of program.commands) {
        command.action(() => {
          isRun = true
        })
      }
      await program.parseAsync(args, { from: 'user' })
      expect(isRun, args.join(' ')).toBe(true)
    }
  })
})
