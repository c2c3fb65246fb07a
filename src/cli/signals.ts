const signals = {
  SIGINT: { name: 'Ctrl-C', exitCode: 130 },
  SIGTERM: { name: 'SIGTERM', exitCode: 143 },
  SIGHUP: { name: 'SIGHUP', exitCode: 129 },
} as const

/**
 * Calls `act` when the user ends the process. The returned function stops that. `SIGHUP` is among
 * the signals only where `which` has it: listening to it defeats `nohup`.
 */
export function onSignals(act: (name: string, exitCode: number) => void, which: readonly (keyof typeof signals)[] = ['SIGINT', 'SIGTERM']): () => void {
  const listeners = which.map((signal) => {
    const { name, exitCode } = signals[signal]
    return { signal, listener: () => act(name, exitCode) }
  })
  // Once: a second signal ends the process as usual.
  for (const { signal, listener } of listeners) process.once(signal, listener)
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener)
  }
}
