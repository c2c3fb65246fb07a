import { OptionError } from '../errors.ts'
import { show } from '../text.ts'

/** Where metrics are served. */
export interface MetricsAddress {
  readonly host: string
  readonly port: number
}

/**
 * The address that `text` means: `:9464` or `9464` on 127.0.0.1, `0.0.0.0:9464`, `[::1]:9464`.
 * Throws `OptionError`.
 */
export function metricsAddress(name: string, text: string): MetricsAddress {
  const [, bracketed, plain, digits] = /^(?:(?:\[([0-9a-f:.]+)\]|([\w.-]*)):)?(\d{1,5})$/i.exec(text.trim()) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) throw new OptionError(name, 'a port, such as :9464, or HOST:PORT', show(text))
  return { host: bracketed || plain || '127.0.0.1', port }
}
