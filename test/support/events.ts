import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished } from 'vitest'
import type { Events } from '../../src/index.ts'

/** Collects the messages of a channel from now on until the test ends. */
export function eventsOf<Name extends keyof Events>(name: Name): Events[Name][] {
  const events: Events[Name][] = []
  const listener = (message: unknown) => void events.push(message as Events[Name])
  subscribe(name, listener)
  onTestFinished(() => void unsubscribe(name, listener))
  return events
}
