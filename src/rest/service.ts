import type { Dispatcher } from 'undici'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'

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

/** Checks every option and fills in the defaults. Throws `OptionError`. */
export function settingsFrom(options: RestOptions): Settings {
  const known = ['signal', 'timeoutMs', 'deadlineMs', 'retry', 'arrays', 'maxArrayLength', 'lenient', 'maxResponseBytes', 'headers', 'dispatcher']
  check.onlyKnown('options', options, known)
  const { signal, arrays = 'indices', lenient = false, dispatcher } = options
  const retry = options.retry === false ? { attempts: 1 } : (options.retry ?? {})
  check.onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], { orElse: ' or false' })
  if (signal !== undefined) check.signal(signal)
  return {
    signal,
    timeoutMs: check.ms('timeoutMs', options.timeoutMs ?? 30_000),
    deadlineMs: check.msOrInfinity('deadlineMs', options.deadlineMs ?? 120_000),
    attempts: check.whole('retry.attempts', retry.attempts ?? 4),
    backoff: {
      baseDelayMs: check.ms('retry.baseDelayMs', retry.baseDelayMs ?? 150),
      maxDelayMs: check.ms('retry.maxDelayMs', retry.maxDelayMs ?? 10_000),
    },
    arrays: check.oneOf('arrays', arrays, ['indices', 'brackets', 'repeat']),
    maxArrayLength: check.whole('maxArrayLength', options.maxArrayLength ?? 20),
    lenient: check.flag('lenient', lenient),
    maxResponseBytes: check.whole('maxResponseBytes', options.maxResponseBytes ?? 32 * 1024 * 1024),
    headers: headersFrom(options.headers ?? {}),
    dispatcher: dispatcher === undefined ? undefined : check.dispatcher(dispatcher),
  }
}

function headersFrom(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const checked = check.headers('headers', headers)
  if (Object.keys(checked).some((name) => name.toLowerCase() === 'x-api-key'))
    throw new OptionError('headers', 'headers other than X-API-Key, which holds service.apiKey', 'X-API-Key')
  return checked
}

/** The address of a group. Throws `OptionError`; no message holds the key. */
export function baseUrlOf(service: Service, group: 'dataUrl' | 'nftUrl' | 'streamsUrl'): URL {
  check.onlyKnown('service', service, ['dataUrl', 'nftUrl', 'streamsUrl', 'apiKey'])
  const { apiKey } = service
  check.apiKey('service.apiKey', apiKey)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot have them, and a key read from a file often has one at its end
  if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(apiKey))
    throw new OptionError('service.apiKey', 'printable characters', 'a control character such as a line break, or one beyond Latin-1')
  const url = check.httpUrl(`service.${group}`, service[group], 'https://data.example.com')
  const more = url.username || url.password ? 'a user or password' : url.search ? 'a query' : url.hash ? 'a fragment' : undefined
  if (more !== undefined) throw new OptionError(`service.${group}`, 'an address and path only (keys go as apiKey or headers)', `a URL with ${more}`)
  if (group === 'dataUrl' && /\/api\/v2\.2\/*$/.test(url.pathname))
    throw new OptionError('service.dataUrl', 'the address without /api/v2.2, which hexline adds', 'an address with it')
  return url
}
