import { Agent } from 'undici'
import { onTestFinished } from 'vitest'

/** An undici agent that finds every host on this machine. */
export function agentForAnyHost(): Agent {
  const lookup = (_: string, options: { all?: boolean }, done: (error: null, ...found: unknown[]) => void) =>
    options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
  const agent = new Agent({ connect: { lookup: lookup as never } })
  onTestFinished(() => agent.destroy())
  return agent
}
