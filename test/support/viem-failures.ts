import { type Abi, BaseError, encodeErrorResult, type Hex, parseAbi } from 'viem'
import { HexlineError } from '../../src/errors.ts'

/** Functions and errors of the test contracts. */
export const abi = parseAbi([
  'function withdraw(uint256 amount)',
  'function check() view returns (uint256)',
  'error Error(string)',
  'error Panic(uint256)',
  'error TooMuch(address who, uint256 asked, uint256 has)',
])

export const holder = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** Contracts by their failure, with address and code. */
export const contracts = {
  reason: { address: '0x00000000000000000000000000000000000c0001', code: revertsWith(errorData('Error', ['not enough'])) },
  panic: { address: '0x00000000000000000000000000000000000c0002', code: revertsWith(errorData('Panic', [0x11n])) },
  custom: { address: '0x00000000000000000000000000000000000c0003', code: revertsWith(errorData('TooMuch', [holder, 7n, 5n])) },
  silent: { address: '0x00000000000000000000000000000000000c0004', code: revertsWith('0x') },
  unknown: { address: '0x00000000000000000000000000000000000c0005', code: revertsWith('0xdeadbeef') },
  // JUMPDEST, PUSH1 0, JUMP: loops until the gas is used up.
  loop: { address: '0x00000000000000000000000000000000000c0006', code: '0x5b600056' },
} as const satisfies Record<string, { address: Hex; code: Hex }>

/** Revert data with an error of `abi`. */
export function errorData(errorName: string, args: readonly unknown[]): Hex {
  return encodeErrorResult({ abi: abi as Abi, errorName, args })
}

/** The code of a contract that reverts every call with these bytes, which follow it. */
function revertsWith(data: Hex): Hex {
  const size = ((data.length - 2) / 2).toString(16).padStart(2, '0')
  // PUSH1 size, DUP1, PUSH1 11, PUSH1 0, CODECOPY, PUSH1 0, REVERT
  return `0x60${size}80600b6000396000fd${data.slice(2)}`
}

/**
 * What a viem user can read from an error, the same for every transport; missing fields are
 * omitted.
 */
export interface Portrait {
  /**
   * viem's errors from the outermost inwards: `A > B`. For an error that is not viem's, its name
   * only.
   */
  readonly is: string
  /** Their classes, since anything can have the same names. */
  readonly classes: readonly unknown[]
  readonly shortMessages: readonly string[]
  readonly details?: string
  /** Without the URL, of which hexline shows scheme and host only. */
  readonly metaMessages?: readonly string[]
  readonly code?: number
  readonly status?: number
  readonly retryAfter?: string
  /** Revert data as the node sent it. */
  readonly raw?: unknown
  readonly reason?: string
  readonly errorName?: string
  readonly args?: readonly unknown[]
}

interface Told extends BaseError {
  readonly code?: number
  readonly status?: number
  readonly headers?: Headers
  readonly data?: Hex | { readonly errorName: string; readonly args: readonly unknown[] }
  readonly reason?: string
}

export function portraitOf(error: unknown): Portrait {
  const levels = viemErrors(error)
  const first = <K extends keyof Told>(key: K) => levels.find((level) => level[key] !== undefined)?.[key]
  const decoded = levels.map(({ data }) => data).find((data) => typeof data === 'object')
  const portrait = {
    is: levels.length === 0 ? (error as Error).name : levels.map(({ name }) => name).join(' > '),
    classes: levels.map((level) => level.constructor),
    shortMessages: levels.map(({ shortMessage }) => shortMessage),
    // Newer versions of Node.js add the position in a JSON text.
    details: first('details')?.replace(/ \(line \d+ column \d+\)$/, ''),
    metaMessages: levels[0]?.metaMessages?.filter((line) => !line.startsWith('URL: ')),
    code: first('code'),
    status: first('status'),
    retryAfter: first('headers')?.get('retry-after') ?? undefined,
    raw: levels.map(({ data }) => data).find((data) => typeof data === 'string'),
    reason: first('reason'),
    errorName: decoded?.errorName,
    args: decoded?.args,
  }
  return Object.fromEntries(Object.entries(portrait).filter(([, value]) => value !== undefined)) as unknown as Portrait
}

function viemErrors(error: unknown): Told[] {
  return causesOf(error).filter((each) => each instanceof BaseError) as Told[]
}

/** hexline's own error under an error of viem's. */
export function hexlineErrorOf(error: unknown): HexlineError | undefined {
  return causesOf(error).find((each) => each instanceof HexlineError)
}

/** The error, its cause, the cause's cause. */
function causesOf(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let each = error; each !== undefined && each !== null; each = (each as Error).cause) found.push(each)
  return found
}
