import { createServer } from 'node:http'
import { createClient } from 'hexline'

/*
 * What hexline does on each runtime, a feature at a time: `program.mjs FEATURE URL`. The test makes
 * an ES module of this file, puts it beside the installed package, and reads what it prints.
 */

type Feature = (url: string) => Promise<unknown>

const features: Readonly<Record<string, Feature>> = {
  async 'HTTP, batches'(url) {
    const client = createClient(url)
    const results = await Promise.all([1n, 2n, 3n].map((block) => client.call('eth_getBalance', `0x${'11'.repeat(20)}`, block)))
    await client.close()
    return results
  },

  async HTTPS(url) {
    // As a program gives undici a certificate.
    const { Agent } = await import('undici/index.js' as 'undici')
    const dispatcher = new Agent({ connect: { ca: process.env.CERTIFICATE } })
    const client = createClient(url, { dispatcher })
    const balance = await client.call('eth_getBalance', `0x${'11'.repeat(20)}`)
    await client.close()
    await dispatcher.close()
    return balance
  },

  async compression(url) {
    const client = createClient(url, { compression: true })
    const balance = await client.call('eth_getBalance', `0x${'11'.repeat(20)}`)
    await client.close()
    return balance
  },

  async 'retries after 429'(url) {
    const client = createClient(url)
    const balance = await client.call('eth_getBalance', `0x${'11'.repeat(20)}`)
    await client.close()
    return balance
  },

  async timeouts(url) {
    const client = createClient(url, { timeoutMs: 200, retry: false })
    const error = (await client.call('eth_blockNumber').catch((error: unknown) => error)) as Error
    await client.close()
    return error.name
  },

  async 'aborted calls'(url) {
    const client = createClient(url)
    const stop = new AbortController()
    // Not before the POST has begun.
    setTimeout(() => stop.abort(new Error('enough')), 200)
    const error = (await client
      .with({ signal: stop.signal })
      .call('eth_blockNumber')
      .catch((error: unknown) => error)) as Error
    await client.close()
    return error.message
  },

  async 'a process that ends without `close`'(url) {
    return await createClient(url).call('eth_chainId')
  },

  async 'WebSocket, `subscribe`'(url) {
    const client = createClient(url.replace('http', 'ws'))
    // It subscribes when it is first asked for an item, and hears of blocks from then on.
    const mining = setInterval(() => void client.request({ method: 'evm_mine', params: [] }).catch(() => {}), 100)
    for await (const item of client.subscribe('newHeads')) {
      clearInterval(mining)
      await client.close()
      return item.type === 'value' ? typeof item.value.number : item
    }
    return undefined
  },

  async getBlocks(url) {
    const { getBlocks } = await import('hexline/bulk')
    const client = createClient(url)
    let [blocks, logs] = [0, 0]
    for await (const { receipts } of getBlocks(client, { from: 0, to: 3, transactions: 'full', receipts: true, verify: 'full' })) {
      blocks++
      for (const receipt of receipts) logs += receipt.logs.length
    }
    await client.close()
    return [blocks, logs]
  },

  async 'getLogs, follow'(url) {
    const { follow, getLogs } = await import('hexline/bulk')
    const client = createClient(url)
    let logs = 0
    for await (const _ of getLogs(client, { from: 0, to: 3, audit: 'receipts' })) logs++
    let followed = 0
    for await (const item of follow(client, { from: 0, logs: true })) {
      if (item.type === 'block') followed += item.logs.length
      if (followed === logs) break
    }
    await client.close()
    return [logs, followed]
  },

  async viem(url) {
    const { createPublicClient, http } = await import('viem')
    const { bulkActions, hexline } = await import('hexline/viem')
    const client = createPublicClient({ transport: hexline(url) }).extend(bulkActions())
    const before = createPublicClient({ transport: http(url) })
    const same = (await client.getBlock({ blockNumber: 1n })).hash === (await before.getBlock({ blockNumber: 1n })).hash
    const numbers = []
    for await (const { number } of client.getBlocks({ fromBlock: 1n, toBlock: 3n })) numbers.push(number)
    await client.transport.client.close()
    return [same, numbers]
  },

  async ethers(url) {
    const { Wallet } = await import('ethers')
    const { HexlineProvider } = await import('hexline/ethers')
    const provider = await HexlineProvider.connect(url)
    const wallet = new Wallet(process.env.PRIVATE_KEY as string, provider)
    const sent = await wallet.sendTransaction({ to: `0x${'22'.repeat(20)}`, value: 1n })
    const receipt = await provider.waitForTransaction(sent.hash)
    provider.destroy()
    return receipt?.status
  },

  async otel(url) {
    const { context, metrics, trace } = await import('@opentelemetry/api')
    const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks')
    const { MeterProvider, MetricReader } = await import('@opentelemetry/sdk-metrics')
    const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await import('@opentelemetry/sdk-trace-base')
    const { instrument } = await import('hexline/otel')
    class Reader extends MetricReader {
      protected override async onShutdown() {}
      protected override async onForceFlush() {}
    }
    const [reader, exporter] = [new Reader(), new InMemorySpanExporter()]
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const stop = instrument()
    const client = createClient(url)
    // The caller's span is found by its async context.
    await trace.getTracer('program').startActiveSpan('mine', async (span) => {
      await client.call('eth_chainId')
      span.end()
    })
    await client.close()
    const { resourceMetrics } = await reader.collect()
    stop()
    const spans = exporter.getFinishedSpans()
    const mine = spans.find(({ name }) => name === 'mine')?.spanContext().spanId
    return {
      spans: spans.map(({ name }) => name).toSorted(),
      children: spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === mine).map(({ name }) => name),
      metrics: resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics).map(({ descriptor }) => descriptor.name),
    }
  },

  async bullmq(url) {
    const { Queue } = await import('bullmq')
    const { Redis } = await import('ioredis')
    const { enqueueExport, exportProgress, exportWorker } = await import('hexline/bullmq')
    const { mergeDataset } = await import('hexline/bulk')
    const redis = new Redis(process.env.REDIS_URL as string, { maxRetriesPerRequest: null })
    const client = createClient(url)
    const names = { queue: `queue-${process.pid}`, prefix: 'hexline' }
    const queue = new Queue(names.queue, { connection: redis, prefix: names.prefix })
    const dir = `queued-${process.pid}`
    const { ranges } = await enqueueExport(queue, { dir, from: 0, to: 3, chainId: await client.call('eth_chainId'), blocksPerFile: 2 })
    const worker = exportWorker(client, { redis, ...names })
    while ((await exportProgress(queue)).ranges.done < ranges) await new Promise((resolve) => setTimeout(resolve, 50))
    await worker.close()
    const { from, to } = await mergeDataset([dir])
    await queue.close()
    redis.disconnect()
    await client.close()
    return [ranges, from, to]
  },

  async 'exportDataset, verifyDataset'(url) {
    const { exportDataset, verifyDataset } = await import('hexline/bulk')
    const client = createClient(url)
    const formats = []
    for (const format of ['ndjson.gz', 'parquet'] as const) {
      const dir = `dataset-${format}-${process.pid}`
      await exportDataset(client, { dir, from: 0, to: 3, tables: ['blocks', 'transactions', 'logs'], format })
      formats.push((await verifyDataset(dir)).blocks)
    }
    await client.close()
    return formats
  },

  async 'hexline/sandbox'(url) {
    const { startSandbox } = await import('hexline/sandbox')
    const { getWalletTokens } = await import('hexline/rest')
    const sandbox = await startSandbox({ upstream: url })
    const client = createClient(sandbox.nodeUrl())
    const page = await getWalletTokens(sandbox.service, { address: `0x${'11'.repeat(20)}`, chain: 'eth' })
    const chain = await client.call('eth_chainId')
    await client.close()
    await sandbox.stop()
    return [chain, page.result.map(({ symbol }) => symbol)]
  },

  async 'diagnostics channels'(url) {
    const { subscribe } = await import('node:diagnostics_channel')
    const seen: string[] = []
    subscribe('hexline:call', (message) => void seen.push((message as { method: string }).method))
    const client = createClient(url)
    await client.call('eth_chainId')
    await client.close()
    return seen
  },

  async 'inside an HTTP server'(url) {
    const client = createClient(url)
    const server = createServer(async (_, response) => response.end(String(await client.call('eth_chainId')))).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const texts = await Promise.all(Array.from({ length: 20 }, () => fetch(`http://127.0.0.1:${port}`).then((response) => response.text())))
    server.close()
    await client.close()
    return [...new Set(texts)]
  },
}

const [name = '', url = ''] = process.argv.slice(2)
const result = await features[name]?.(url)
console.log(JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)))
