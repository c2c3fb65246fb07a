/** Hexadecimal with its `0x`: bytes, or a quantity. */
export type Hex = `0x${string}`
/** 20 bytes in hex. */
export type Address = Hex
/** 32 bytes in hex. */
export type Hash = Hex
