import type { Dispatcher } from 'undici'
import { checkHeaders, checkSignal, onlyKnown } from '../client/options.ts'
import { OptionError } from '../errors.ts'
import { show } from '../text.ts'

/** The groups of the service that are read by GET: where they are, and the key. Only the address of the group that is asked is needed. */
export interface Service {
  /** EVM data API: `getWalletTokens`, `getTransaction`. Without `/api/v2.2`. */
  readonly dataUrl?: string | undefined
  /** NFT API; of mainnet or of testnet, each is a service of its own. */
  readonly nftUrl?: string | undefined
  /** Streams API. */
  readonly streamsUrl?: string | undefined
  /** Goes as the header `X-API-Key`. */
  readonly apiKey: string
}

/** How arrays go in a query: `a[0]=x`, `a[]=x`, or `a=x&a=y`. */
export type Arrays = 'indices' | 'brackets' | 'repeat'

export interface RestOptions {
  /** Ends the call with its reason. */
  readonly signal?: AbortSignal | undefined
  /** One request from its start to the last byte of its reply, in ms; waiting in line is not counted. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** One page with all its attempts and waits, in ms. Default 120,000. */
  readonly deadlineMs?: number | undefined
  /**
   * Attempts for each page, the first one counted (default 4), with waits of full jitter between them. `false`: one. Being throttled is not a failed attempt:
   * such a call waits and is repeated until its deadline, unless it has one attempt only.
   */
  readonly retry?:
    | { readonly attempts?: number | undefined; readonly baseDelayMs?: number | undefined; readonly maxDelayMs?: number | undefined }
    | false
    | undefined
  /** How arrays go in the query. Default `indices`. */
  readonly arrays?: Arrays | undefined
  /** Longest array that is sent: common servers misread longer ones. Default 20. */
  readonly maxArrayLength?: number | undefined
  /** A field that cannot be read is kept as sent, instead of being an error: it may then have another type than is declared. Default false. */
  readonly lenient?: boolean | undefined
  /** Longest reply, in bytes after decompression. Default 32 MiB. */
  readonly maxResponseBytes?: number | undefined
  /** Sent with every request. The key goes as `apiKey`, not here. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An undici dispatcher to send with. Default: undici's global one, where it is of the version that hexline has. */
  readonly dispatcher?: Dispatcher | undefined
}

/** Options with every default filled in. */
export interface Settings {
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  readonly deadlineMs: number
  readonly attempts: number
  readonly backoff: { readonly baseDelayMs: number; readonly maxDelayMs: number }
  readonly arrays: Arrays
  readonly maxArrayLength: number
  readonly lenient: boolean
  readonly maxResponseBytes: number
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher | undefined
}

const LONGEST_TIMER = 2 ** 31 - 1

/** Checks every option and fills in the defaults. Throws `OptionError`. */
export function settingsFrom(options: RestOptions): Settings {
  const known = ['signal', 'timeoutMs', 'deadlineMs', 'retry', 'arrays', 'maxArrayLength', 'lenient', 'maxResponseBytes', 'headers', 'dispatcher']
  onlyKnown('options', options, known)
  const { signal, arrays = 'indices', lenient = false, dispatcher } = options
  const retry = options.retry === false ? { attempts: 1 } : (options.retry ?? {})
  onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], ' or false')
  if (signal !== undefined) checkSignal(signal)
  if (!['indices', 'brackets', 'repeat'].includes(arrays)) throw new OptionError('arrays', "'indices', 'brackets' or 'repeat'", show(arrays))
  if (typeof lenient !== 'boolean') throw new OptionError('lenient', 'true or false', show(lenient))
  if (dispatcher !== undefined && typeof dispatcher?.dispatch !== 'function')
    throw new OptionError('dispatcher', 'an undici dispatcher', typeof dispatcher === 'string' ? 'a string' : show(dispatcher))
  return {
    signal,
    timeoutMs: numberFrom('timeoutMs', options.timeoutMs ?? 30_000, LONGEST_TIMER),
    deadlineMs: numberFrom('deadlineMs', options.deadlineMs ?? 120_000, Number.POSITIVE_INFINITY),
    attempts: wholeFrom('retry.attempts', retry.attempts ?? 4),
    backoff: {
      baseDelayMs: numberFrom('retry.baseDelayMs', retry.baseDelayMs ?? 150, LONGEST_TIMER),
      maxDelayMs: numberFrom('retry.maxDelayMs', retry.maxDelayMs ?? 10_000, LONGEST_TIMER),
    },
    arrays,
    maxArrayLength: wholeFrom('maxArrayLength', options.maxArrayLength ?? 20),
    lenient,
    maxResponseBytes: wholeFrom('maxResponseBytes', options.maxResponseBytes ?? 32 * 1024 * 1024),
    headers: headersFrom(options.headers ?? {}),
    dispatcher,
  }
}

function headersFrom(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const checked = checkHeaders('headers', headers)
  if (Object.keys(checked).some((name) => name.toLowerCase() === 'x-api-key'))
    throw new OptionError('headers', 'headers other than X-API-Key, which service.apiKey is sent as', 'X-API-Key')
  return checked
}

/** The address of a group. Throws `OptionError`; no message holds the key. */
export function baseUrlOf(service: Service, group: 'dataUrl' | 'nftUrl' | 'streamsUrl'): URL {
  onlyKnown('service', service, ['dataUrl', 'nftUrl', 'streamsUrl', 'apiKey'])
  const { apiKey } = service
  if (typeof apiKey !== 'string' || apiKey.trim() === '')
    throw new OptionError('service.apiKey', 'a key', typeof apiKey === 'string' ? 'an empty string' : show(apiKey))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot have them, and a key read from a file often has one at its end
  if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(apiKey))
    throw new OptionError('service.apiKey', 'printable characters', 'a control character such as a line break, or one beyond Latin-1')
  const text = service[group]
  if (typeof text !== 'string' || text === '')
    throw new OptionError(`service.${group}`, 'the address of this group', text === '' ? 'an empty string' : show(text))
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new OptionError(`service.${group}`, 'an http or https URL, such as https://data.example.com', 'a string that is none')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new OptionError(`service.${group}`, 'an http or https URL', 'one of another scheme')
  const more = url.username || url.password ? 'a user or password' : url.search ? 'a query' : url.hash ? 'a fragment' : undefined
  if (more !== undefined) throw new OptionError(`service.${group}`, 'an address and path only (keys go as apiKey or headers)', `one with ${more}`)
  if (group === 'dataUrl' && /\/api\/v2\.2\/*$/.test(url.pathname))
    throw new OptionError('service.dataUrl', 'the address without /api/v2.2, which hexline adds', 'one with it')
  return url
}

function numberFrom(name: string, value: unknown, most: number): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value
  throw new OptionError(
    name,
    most === Number.POSITIVE_INFINITY ? 'a number of ms above 0, or Infinity' : `a number of ms above 0, at most ${most}`,
    show(value),
  )
}

function wholeFrom(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw new OptionError(name, 'a whole number of at least 1', show(value))
}
