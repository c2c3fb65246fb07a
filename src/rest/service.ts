import type { Dispatcher } from 'undici'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { DEFAULTS } from '../rpc/defaults.ts'

/**
 * The base URLs of the service's GET groups, and the key. Only the URL of the group in use is
 * needed.
 */
export interface Service {
  /** EVM data API: `getWalletTokens`, `getTransaction`. Without `/api/v2.2`. */
  readonly dataUrl?: string | undefined
  /** NFT API, of mainnet or testnet. Each is a separate service. */
  readonly nftUrl?: string | undefined
  /** Streams API. */
  readonly streamsUrl?: string | undefined
  /** Sent as the header `X-API-Key`. */
  readonly apiKey: string
}

/** Encoding of arrays in a query: `a[0]=x`, `a[]=x`, or `a=x&a=y`. */
export type Arrays = 'indices' | 'brackets' | 'repeat'

/** Options of each call of the REST API. */
export interface RestOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * Time for one request, from its start to the last byte of its reply, in ms, without the wait in
   * the queue. Default 30,000.
   */
  readonly timeoutMs?: number | undefined
  /** Time for one page with all its attempts and waits, in ms. Default 120,000. */
  readonly deadlineMs?: number | undefined
  /**
   * Retries of a failed page: `attempts` is the total, with the first one (default 4). The waits
   * between them have full jitter, up to `baseDelayMs` (150) doubled each time, at most
   * `maxDelayMs` (10,000). `false`: one attempt. A throttled request does not count as a failed
   * attempt: it waits and is sent again until its deadline, unless only one attempt is allowed.
   */
  readonly retry?:
    | { readonly attempts?: number | undefined; readonly baseDelayMs?: number | undefined; readonly maxDelayMs?: number | undefined }
    | false
    | undefined
  /** Encoding of arrays in the query. Default `indices`. */
  readonly arrays?: Arrays | undefined
  /** The longest array to send, since common servers misread longer ones. Default 20. */
  readonly maxArrayLength?: number | undefined
  /**
   * Keeps a field that cannot be decoded as sent, instead of failing. Its type may then differ from
   * the declared one. Default false.
   */
  readonly lenient?: boolean | undefined
  /** Longest reply, in bytes after decompression. Default 32 MiB. */
  readonly maxResponseBytes?: number | undefined
  /** Headers of every request, except for the key, which goes in `apiKey`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * An undici dispatcher for the requests. Default: undici's global one, if its version is
   * compatible.
   */
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

const OPTIONS = ['signal', 'timeoutMs', 'deadlineMs', 'retry', 'arrays', 'maxArrayLength', 'lenient', 'maxResponseBytes', 'headers', 'dispatcher']

/** Options in place of the service, where those of `createClient` would stand. */
const NOT_HERE = Object.fromEntries(OPTIONS.map((name) => [name, 'options are the third argument']))

/** Checks every option and fills in the defaults. Throws `OptionError`. */
export function settingsFrom(options: RestOptions): Settings {
  check.onlyKnown('options', options, OPTIONS)
  const {
    signal,
    timeoutMs = DEFAULTS.timeoutMs,
    deadlineMs = DEFAULTS.deadlineMs,
    retry = {},
    arrays = 'indices',
    maxArrayLength = 20,
    lenient = false,
  } = options
  const { maxResponseBytes = 32 * 1024 * 1024, headers = {}, dispatcher } = options
  if (retry !== false) check.onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], { orElse: ' or false' })
  const { attempts = DEFAULTS.attempts, baseDelayMs = DEFAULTS.baseDelayMs, maxDelayMs = DEFAULTS.maxDelayMs } = retry === false ? { attempts: 1 } : retry
  if (signal !== undefined) check.signal(signal)
  return {
    signal,
    timeoutMs: check.ms('timeoutMs', timeoutMs),
    deadlineMs: check.msOrInfinity('deadlineMs', deadlineMs),
    attempts: check.attempts('retry.attempts', attempts),
    backoff: {
      baseDelayMs: check.positive('retry.baseDelayMs', baseDelayMs),
      maxDelayMs: check.positive('retry.maxDelayMs', maxDelayMs),
    },
    arrays: check.oneOf('arrays', arrays, ['indices', 'brackets', 'repeat']),
    maxArrayLength: check.whole('maxArrayLength', maxArrayLength),
    lenient: check.flag('lenient', lenient),
    maxResponseBytes: check.whole('maxResponseBytes', maxResponseBytes),
    headers: headersFrom(headers),
    dispatcher: dispatcher === undefined ? undefined : check.dispatcher(dispatcher),
  }
}

function headersFrom(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const checked = check.headers('headers', headers)
  if (Object.keys(checked).some((name) => name.toLowerCase() === 'x-api-key'))
    throw new OptionError('headers', 'headers other than X-API-Key, which holds service.apiKey', 'X-API-Key')
  return checked
}

/** The base URL of a group. Throws `OptionError`; no message contains the key. */
export function baseUrlOf(service: Service, group: 'dataUrl' | 'nftUrl' | 'streamsUrl'): URL {
  check.onlyKnown('service', service, ['dataUrl', 'nftUrl', 'streamsUrl', 'apiKey'], { refused: NOT_HERE })
  const { apiKey } = service
  check.apiKey('service.apiKey', apiKey)
  // A header cannot have control characters, and a key that was read from a file often ends in one.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
  if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(apiKey))
    throw new OptionError('service.apiKey', 'printable characters', 'a control character such as a line break, or one beyond Latin-1')
  const url = check.httpUrl(`service.${group}`, service[group], 'https://data.example.com')
  const more = url.username || url.password ? 'a user or password' : url.search ? 'a query' : url.hash ? 'a fragment' : undefined
  if (more !== undefined) throw new OptionError(`service.${group}`, 'an address and path only (keys go as apiKey or headers)', `a URL with ${more}`)
  if (group === 'dataUrl' && /\/api\/v2\.2\/*$/.test(url.pathname))
    throw new OptionError('service.dataUrl', 'the address without /api/v2.2, which hexline adds', 'an address with it')
  return url
}
