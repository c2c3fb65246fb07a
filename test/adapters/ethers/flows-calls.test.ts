import { describe, expect } from 'vitest'
import { alice, carol, ethersFlows, failureOf } from '../../support/ethers-flows.ts'
import {
  answer,
  gateway,
  gatewayAbi,
  makeHistory,
  named,
  namedAbi,
  putContracts,
  reason,
  talker,
  token,
  tokenAbi,
} from '../../support/ethers-flows-contracts.ts'

const flow = ethersFlows(async (bed) => {
  await putContracts(bed)
  await makeHistory(bed)
})

describe('call and estimateGas', () => {
  const name = { to: named, data: namedAbi.encodeFunctionData('name') }

  flow(
    'call, with values, from, block tags and types of transactions',
    async ({ provider }) => ({
      name: await provider.call(name),
      ofTypes: await Promise.all([0, 1, 2].map((type) => provider.call({ ...name, type }))),
      atTags: await Promise.all(['latest', 'pending', 0, -1].map((blockTag) => provider.call({ ...name, blockTag }))),
      created: await provider.call({ from: alice, data: '0x600160005260206000f3' }),
      nobody: await provider.call({ to: carol, data: '0x1234' }),
    }),
    ({ name, ofTypes, created, nobody }) => {
      expect(namedAbi.decodeFunctionResult('name', name)[0]).toBe('Hexline')
      expect(new Set(ofTypes)).toEqual(new Set([name]))
      expect([BigInt(created), nobody]).toEqual([1n, '0x'])
    },
  )

  flow(
    'call at a past block sees the state at that block',
    async ({ provider, ask }) => {
      // anvil keeps the state of a block when the next one is mined.
      await ask('evm_mine')
      await ask('anvil_setCode', named, '0x00')
      await ask('evm_mine')
      return [await provider.call(name), await provider.call({ ...name, blockTag: 3 }), await provider.getCode(named), await provider.getCode(named, 3)]
    },
    ([now, then, code]) => {
      expect([now, code]).toEqual(['0x', '0x00'])
      expect(then).not.toBe('0x')
    },
  )

  flow(
    'call and estimateGas of a revert give the reason',
    async ({ provider }) => ({
      call: await failureOf(provider.call({ to: talker })),
      gas: await failureOf(provider.estimateGas({ to: talker })),
      silent: await failureOf(provider.call({ to: token, from: alice, data: tokenAbi.encodeFunctionData('transfer', [carol, 0]) })),
    }),
    ({ call, gas, silent }) => {
      expect(call).toMatchObject({ code: 'CALL_EXCEPTION', action: 'call', reason, revert: { name: 'Error', args: [reason] } })
      expect(gas).toMatchObject({ code: 'CALL_EXCEPTION', action: 'estimateGas', reason })
      expect(silent).toMatchObject({ code: 'CALL_EXCEPTION', reason: 'require(false)' })
    },
  )

  flow(
    'estimateGas of a transfer, a call and a creation',
    async ({ provider }) => [
      await provider.estimateGas({ from: alice, to: carol, value: 1 }),
      await provider.estimateGas({ from: alice, to: token, data: tokenAbi.encodeFunctionData('transfer', [carol, 1]) }),
      await provider.estimateGas({ from: alice, data: '0x600160005260206000f3' }),
    ],
    ([transfer, ...more]) => {
      expect(transfer).toBe(21_000n)
      for (const gas of more) expect(gas).toBeGreaterThan(21_000n)
    },
  )

  flow(
    'CCIP read: an answer from elsewhere with enableCcipRead, an exception without',
    async ({ provider, make }) => {
      const tx = { to: gateway, data: gatewayAbi.encodeFunctionData('lookup', ['alice']) }
      const events: { action: string }[] = []
      await provider.on('debug', (event) => events.push(event))
      const looked = await provider.call({ ...tx, enableCcipRead: true })
      const actions = events.map(({ action }) => action).filter((action) => /ccip/i.test(action))
      const disabled = make()
      disabled.disableCcipRead = true
      return {
        looked,
        actions,
        without: await failureOf(provider.call(tx)),
        disabled: await failureOf(disabled.call({ ...tx, enableCcipRead: true })),
        past: await failureOf(provider.call({ ...tx, enableCcipRead: true, blockTag: 3 })),
      }
    },
    ({ looked, actions, without, disabled }) => {
      expect(BigInt(looked)).toBe(answer)
      expect(actions).toContain('receiveCcipReadCallResult')
      expect(without).toMatchObject({ code: 'CALL_EXCEPTION', data: expect.stringMatching(/^0x556f1830/) })
      expect(disabled).toMatchObject({ code: 'CALL_EXCEPTION' })
    },
  )
})
