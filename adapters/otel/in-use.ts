import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { OptionError } from '../../src/errors.ts'
import { processWide } from '../../src/process-wide.ts'

/** What one `instrument` reports to. */
interface Providers {
  readonly tracerProvider: TracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
}

const inUse = processWide('providersInUse', () => new Set<Providers>())

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
