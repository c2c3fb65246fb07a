import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { OptionError } from '../../src/errors.ts'

/** What one `instrument` reports to. */
interface Providers {
  readonly tracerProvider: TracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
}

const IN_USE: unique symbol = Symbol.for('hexline.providersInUse')

/** Registered for the whole process: both builds may be in it. */
const inUse: Set<Providers> = register()

function register(): Set<Providers> {
  const registry = globalThis as { [IN_USE]?: Set<Providers> }
  registry[IN_USE] ??= new Set()
  return registry[IN_USE]
}

/**
 * These providers are in use until the function that it returns is called. Throws `OptionError` if
 * one already is: each span, or each figure, would be there twice.
 */
export function claim(providers: Providers): () => void {
  for (const option of ['tracerProvider', 'meterProvider'] as const) {
    const provider = realOf(providers[option])
    const isTaken = provider !== undefined && [...inUse].some((other) => realOf(other[option]) === provider)
    if (isTaken) throw new OptionError(option, 'a provider that no running instrument() uses', 'one in use')
  }
  inUse.add(providers)
  return () => void inUse.delete(providers)
}

/** The global tracer provider stands for the one that is registered, sooner or later. */
function realOf(provider: object | undefined): object | undefined {
  const { getDelegate } = (provider ?? {}) as { getDelegate?: () => object }
  return getDelegate === undefined ? provider : getDelegate.call(provider)
}
