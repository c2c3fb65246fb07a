import { Wallet } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { expect, onTestFinished, test } from 'vitest'
import { startAnvil } from '../../support/anvil.ts'
import { alice, bob } from '../../support/ethers-flows.ts'

test('what is read right after a transaction is mined is from after it', async () => {
  const anvil = await startAnvil()
  const provider = new HexlineProvider(anvil.url)
  onTestFinished(async () => {
    provider.destroy()
    await anvil.stop()
  })
  const wallet = new Wallet(bob.privateKey, provider)
  const told: unknown[] = []
  for (let i = 1; i <= 5; i++) {
    const before = await provider.getBalance(alice)
    const receipt = await (await wallet.sendTransaction({ to: alice, value: 1 })).wait()
    told.push([i, (await provider.getBalance(alice)) - before, await provider.getTransactionCount(bob.address), await receipt?.confirmations()])
  }
  expect(told).toEqual([1, 2, 3, 4, 5].map((i) => [i, 1n, i, 1]))
})
