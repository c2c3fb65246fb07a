import cliProgress from 'cli-progress'
import type { BadNode } from './bad-node.ts'
import { CALLERS, type Runner, stuck } from './race.ts'

export interface Lane {
  readonly name: string
  readonly runner: Runner
}

/** Shows that the chain is being made, on a terminal; gone at its last block. */
export function showMaking(stream: NodeJS.WriteStream, done: number, total: number): void {
  if (stream.isTTY) stream.write(done === total ? '\r\x1b[K' : `\r  ${count(done)} of ${count(total)} blocks\x1b[K`)
}

/**
 * Shows the lanes until `stop` is called: bars and the state of the nodes on a terminal, elsewhere
 * a line for each every few seconds.
 */
export function showRace(stream: NodeJS.WriteStream, lanes: readonly Lane[], nodes: readonly [BadNode, BadNode], total: number): { stop(): void } {
  if (!stream.isTTY) {
    const tell = () => {
      for (const { name, runner } of lanes) stream.write(`${name} ${count(runner.done)} of ${count(total)} blocks${trouble(runner)}\n`)
    }
    const timer = setInterval(tell, 4000)
    return { stop: () => clearInterval(timer) }
  }
  const columns = stream.columns ?? 80
  const bars = new cliProgress.MultiBar(
    { stream, hideCursor: true, gracefulExit: false, autopadding: true, barsize: Math.max(8, Math.min(60, columns - 66)), format: BAR },
    cliProgress.Presets.shades_classic,
  )
  const shown = lanes.map((lane) => ({ lane, bar: bars.create(total, 0, texts(lane, total)) }))
  const state = bars.create(1, 0, { text: stateOf(nodes) }, { format: '{text}' })
  const update = () => {
    for (const { lane, bar } of shown) bar.update(lane.runner.done, texts(lane, total))
    state.update(0, { text: stateOf(nodes) })
  }
  const timer = setInterval(update, 100)
  return {
    stop() {
      if (!bars.isActive) return
      clearInterval(timer)
      update()
      bars.stop()
    },
  }
}

export const count = (value: number) => value.toLocaleString('en-US')

const BAR = '{name} {bar} {percentage} % {blocks} blocks{trouble}'

function texts({ name, runner }: Lane, total: number) {
  return { name, blocks: count(runner.done).padStart(count(total).length), trouble: trouble(runner) }
}

function trouble(runner: Runner): string {
  const waiting = stuck(runner)
  return [runner.failed > 0 ? `, ${count(runner.failed)} failed` : '', waiting > 0 ? `, ${waiting} of ${CALLERS} callers stuck` : ''].join('')
}

function stateOf([a, b]: readonly [BadNode, BadNode]): string {
  return `A is ${a.isDead ? 'DEAD' : 'up'}, B is ${b.isDead ? 'DEAD' : 'up'}`
}
