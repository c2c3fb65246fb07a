/*
 * A program that has each new block of a node, by the built package or by a peer, and tells when.
 * It loads nothing but that, and no loader or test framework. It gets the node's URL and the name
 * of a way as arguments, and tells the number of each block with the time on the clock that all
 * processes share.
 */
const [url = '', way = ''] = process.argv.slice(-2)
const CHAIN = 31_337

const onBlock = (number: number | bigint | null) => void process.send?.({ number: Number(number), at: Number(process.hrtime.bigint()) / 1e6 })

const ways: Record<string, () => Promise<unknown>> = {
  async 'hexline follow'() {
    const { createClient, follow } = {
      ...(await built<typeof import('../../src/index.ts')>('')),
      ...(await built<typeof import('../../src/index-bulk.ts')>('/bulk')),
    }
    for await (const item of follow(createClient(url), { from: 'latest' })) if (item.type === 'block') onBlock(item.block.number)
  },
  async 'viem watchBlocks'() {
    const [{ createPublicClient, webSocket }, { foundry }] = [await import('viem'), await import('viem/chains')]
    createPublicClient({ chain: foundry, transport: webSocket(url) }).watchBlocks({ onBlock: (block) => onBlock(block.number) })
  },
  async "ethers on('block') and getBlock"() {
    const { WebSocketProvider } = await import('ethers')
    const provider = new WebSocketProvider(url, CHAIN)
    await provider.on('block', async (number: number) => onBlock((await provider.getBlock(number))?.number ?? null))
  },
}

/** The package by its name, as users get it. */
function built<T>(entry: string): Promise<T> {
  return import(`hexline${entry}`)
}

await ways[way]?.()
