const signals = {
  SIGINT: { name: 'Ctrl-C', exitCode: 130 },
  SIGTERM: { name: 'SIGTERM', exitCode: 143 },
  SIGHUP: { name: 'SIGHUP', exitCode: 129 },
} as const

/**
 * Calls `act` when the user ends the process, or closes its terminal. The returned function stops
 * that. `nohup` is no reason to leave `SIGHUP` alone: Node.js undoes it when it starts.
 */
export function onSignals(act: (name: string, exitCode: number) => void): () => void {
  const listeners = Object.entries(signals).map(([signal, { name, exitCode }]) => ({ signal, listener: () => act(name, exitCode) }))
  for (const { signal, listener } of listeners) {
    // Once: a second signal ends the process as usual.
    process.once(signal, listener)
    // Except for this one: when a terminal closes, both the shell and the system send it.
    if (signal === 'SIGHUP') process.on(signal, ignore)
  }
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener)
    process.off('SIGHUP', ignore)
  }
}

function ignore(): void {}
