/*
 * Assembles a WebAssembly module that computes Keccak-256 from the definition in FIPS 202: 25 lanes
 * of 64 bits in local variables, and 24 rounds of theta, rho, pi, chi and iota. WebAssembly has
 * integers of 64 bits, which JavaScript has only as objects or in halves.
 * https://nvlpubs.nist.gov/nistpubs/FIPS/NIST.FIPS.202.pdf
 */

const ROUNDS = 24
/** Lanes of a block: the rate of 1088 bits. */
const RATE_LANES = 17

// Opcodes: https://webassembly.github.io/spec/core/binary/instructions.html
const LOOP = 0x03
const END = 0x0b
const BR_IF = 0x0d
const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const I64_LOAD = 0x29
const I64_STORE = 0x37
const I32_CONST = 0x41
const I64_CONST = 0x42
const I32_NE = 0x47
const I32_ADD = 0x6a
const I32_SUB = 0x6b
const I64_AND = 0x83
const I64_XOR = 0x85
const I64_ROTL = 0x89
const I32 = 0x7f
const I64 = 0x7e
const EMPTY = 0x40

/** The parameters, then the number of the round, times 8. */
const AT = 0
const BLOCKS = 1
const ROUND = 2
/** Lane x, y of the state is the local `STATE + x + 5 * y`. */
const STATE = 3
/** The lanes after rho and pi. */
const MOVED = STATE + 25
/** The parity of each column, and what theta adds to it. */
const PARITY = MOVED + 25
const ADDED = PARITY + 5
const LANES = ADDED + 5 - STATE

/**
 * A module with a `memory` of 4 pages and `absorb(at, blocks)`, which hashes blocks of 136 bytes,
 * padding included, and writes the digest to `digestAt`. The round constants stand at 0.
 */
export function keccakModule(digestAt: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 2, I32, I32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 4]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('absorb'), 0, 0]),
    ...section(10, [1, ...sized([2, 1, I32, LANES, I64, ...absorb(digestAt)])]),
    ...section(11, [1, 0, I32_CONST, 0, END, ...sized(roundConstants())]),
  ])
}

function absorb(digestAt: number): number[] {
  return [
    ...[LOOP, EMPTY],
    ...range(RATE_LANES).flatMap((i) => set(STATE + i, [...get(STATE + i), ...get(AT), I64_LOAD, 0, ...unsigned(8 * i), I64_XOR])),
    ...set(ROUND, [I32_CONST, 0]),
    ...[LOOP, EMPTY],
    ...round(),
    ...[...get(ROUND), I32_CONST, 8, I32_ADD, LOCAL_TEE, ROUND, I32_CONST, ...signed(8 * ROUNDS), I32_NE, BR_IF, 0],
    END,
    ...set(AT, [...get(AT), I32_CONST, ...signed(8 * RATE_LANES), I32_ADD]),
    ...[...get(BLOCKS), I32_CONST, 1, I32_SUB, LOCAL_TEE, BLOCKS, BR_IF, 0],
    END,
    ...range(4).flatMap((i) => [I32_CONST, 0, ...get(STATE + i), I64_STORE, 3, ...unsigned(digestAt + 8 * i)]),
    END,
  ]
}

function round(): number[] {
  const code: number[] = []
  for (let x = 0; x < 5; x++) {
    code.push(...set(PARITY + x, [...get(STATE + x), ...[5, 10, 15, 20].flatMap((y) => [...get(STATE + x + y), I64_XOR])]))
  }
  for (let x = 0; x < 5; x++) {
    code.push(...set(ADDED + x, [...get(PARITY + ((x + 4) % 5)), ...get(PARITY + ((x + 1) % 5)), I64_CONST, 1, I64_ROTL, I64_XOR]))
  }
  for (const { from, to, by } of rotations()) {
    const lane = [...get(STATE + from), ...get(ADDED + (from % 5)), I64_XOR]
    code.push(...set(MOVED + to, by === 0 ? lane : [...lane, I64_CONST, ...signed(by), I64_ROTL]))
  }
  for (let i = 0; i < 25; i++) {
    const row = i - (i % 5)
    const lane = [
      ...get(MOVED + i),
      ...[...get(MOVED + row + ((i + 1) % 5)), I64_CONST, ...signed(-1), I64_XOR],
      ...[...get(MOVED + row + ((i + 2) % 5)), I64_AND, I64_XOR],
    ]
    code.push(...set(STATE + i, i === 0 ? [...lane, ...get(ROUND), I64_LOAD, 3, 0, I64_XOR] : lane))
  }
  return code
}

/** Rho and pi: each lane, where it goes, and by how many bits it turns. */
function rotations(): { readonly from: number; readonly to: number; readonly by: number }[] {
  const moves = [{ from: 0, to: 0, by: 0 }]
  let [x, y] = [1, 0]
  for (let t = 0; t < 24; t++) {
    const [nextX, nextY] = [y, (2 * x + 3 * y) % 5]
    moves.push({ from: x + 5 * y, to: nextX + 5 * nextY, by: (((t + 1) * (t + 2)) / 2) % 64 })
    ;[x, y] = [nextX, nextY]
  }
  return moves
}

/** The constants of iota, 8 bytes each, lowest first. A shift register gives their bits. */
function roundConstants(): number[] {
  const bytes = new Array<number>(8 * ROUNDS).fill(0)
  let register = 1
  for (let i = 0; i < ROUNDS; i++) {
    for (let j = 0; j < 7; j++) {
      const bit = 2 ** j - 1
      if ((register & 1) === 1) bytes[8 * i + (bit >> 3)] = (bytes[8 * i + (bit >> 3)] as number) | (1 << (bit & 7))
      register = register & 0x80 ? ((register << 1) & 0xff) ^ 0x71 : register << 1
    }
  }
  return bytes
}

function get(local: number): number[] {
  return [LOCAL_GET, local]
}

function set(local: number, value: readonly number[]): number[] {
  return [...value, LOCAL_SET, local]
}

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i)
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...sized(content)]
}

function sized(content: readonly number[]): number[] {
  return [...unsigned(content.length), ...content]
}

function name(text: string): number[] {
  return sized([...Buffer.from(text)])
}

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)]
}

/** LEB128 with a sign. */
function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}
