import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { versionOf } from '../../bench/peers.ts'

const lockOf = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))

describe('the version that is measured', () => {
  it('is the one of the project', () => {
    expect(versionOf('hexline')).toBe(lockOf('package.json').version)
  })

  it.each(['viem', 'ethers', 'undici'])('of %s is the one that is installed beside the sources', (name) => {
    expect(versionOf(name)).toBe(lockOf('package-lock.json').packages[`node_modules/${name}`].version)
  })

  it('of a package that is nowhere is an error', () => {
    expect(() => versionOf('no-such-package')).toThrow('no-such-package')
  })
})
