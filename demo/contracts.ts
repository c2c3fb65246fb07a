import type { Hex } from '../src/index.ts'

/*
 * The contracts of the demo's chain, written out instruction by instruction. A contract's code is a
 * hex string without 0x.
 */

/** The code that runs once, and answers the code to keep. */
export function deployment(runtime: string): Hex {
  const size = (runtime.length / 2).toString(16).padStart(2, '0')
  const init = code(`
    60 ${size}     PUSH1          size of the code to keep
    80        DUP1
    60 0b     PUSH1 11       where it begins: after these instructions
    60 00     PUSH1 0
    39        CODECOPY       memory[0..size] = the code to keep
    60 00     PUSH1 0
    f3        RETURN         memory[0..size]
  `)
  return `0x${init}${runtime}`
}

/** The bytes at the beginning of each line. */
function code(listing: string): string {
  return listing.replaceAll(/^\s*((?:[0-9a-f]{2} ?|[0-9a-f]{64} )+)\s.*$/gm, '$1').replaceAll(/\s/g, '')
}

/**
 * `transfer(to, amount)` counts itself in slot 0, logs `Transfer(caller, to, amount)` as an ERC-20
 * does, and reverts for an amount of 0. It keeps no balances.
 */
export const tokenCode = code(`
  60 24     PUSH1 36       after the selector and the first word
  35        CALLDATALOAD   amount
  80        DUP1           amount, amount
  15        ISZERO         amount, amount == 0
  60 48     PUSH1 72       where the JUMPDEST is
  57        JUMPI          amount
  60 00     PUSH1 0
  52        MSTORE         memory[0] = amount
  60 01     PUSH1 1
  60 00     PUSH1 0
  54        SLOAD          1, counter
  01        ADD            counter + 1
  60 00     PUSH1 0
  55        SSTORE         slot 0 = counter + 1
  60 04     PUSH1 4        after the selector
  35        CALLDATALOAD   to
  33        CALLER         to, caller
  7f ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef   PUSH32 keccak256("Transfer(address,address,uint256)")
  60 20     PUSH1 32
  60 00     PUSH1 0
  a3        LOG3           memory[0..32], topics: signature, caller, to
  60 01     PUSH1 1
  60 00     PUSH1 0
  52        MSTORE         memory[0] = true
  60 20     PUSH1 32
  60 00     PUSH1 0
  f3        RETURN         memory[0..32]
  5b        JUMPDEST       72
  60 00     PUSH1 0
  80        DUP1
  fd        REVERT         with nothing to say
`)

/**
 * Any call with `to` as its first argument gives it a new item, logged as an ERC-721 does:
 * `Transfer(0, to, id)`, all in topics. The last id is in slot 0.
 */
export const collectibleCode = code(`
  60 01     PUSH1 1
  60 00     PUSH1 0
  54        SLOAD          1, last id
  01        ADD            id
  80        DUP1           id, id
  60 00     PUSH1 0
  55        SSTORE         slot 0 = id; id
  60 04     PUSH1 4        after the selector
  35        CALLDATALOAD   id, to
  60 00     PUSH1 0        id, to, from nobody
  7f ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef   PUSH32 keccak256("Transfer(address,address,uint256)")
  60 00     PUSH1 0
  60 00     PUSH1 0
  a4        LOG4           no data, topics: signature, from, to, id
  00        STOP
`)
