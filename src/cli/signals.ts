/** Calls `act` when the user ends the process. The returned function stops that. */
export function onSignals(act: (name: string, exitCode: number) => void): () => void {
  const onInt = () => act('Ctrl-C', 130)
  const onTerm = () => act('SIGTERM', 143)
  // Once: a second signal ends the process as usual.
  process.once('SIGINT', onInt)
  process.once('SIGTERM', onTerm)
  return () => {
    process.off('SIGINT', onInt)
    process.off('SIGTERM', onTerm)
  }
}
