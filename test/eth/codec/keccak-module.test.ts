import { expect, test } from 'vitest'
import { keccakModule } from '../../../src/eth/codec/keccak-module.ts'

test('the module is valid, small, and exports what it says', () => {
  const bytes = keccakModule(192)
  const api = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } }).WebAssembly
  const exportsOf = (api.Module as unknown as { exports(module: object): { name: string; kind: string }[] }).exports(new api.Module(bytes))
  expect(exportsOf).toEqual([
    { name: 'memory', kind: 'memory' },
    { name: 'absorb', kind: 'function' },
  ])
  expect(bytes.length).toBeLessThan(2500)
})
