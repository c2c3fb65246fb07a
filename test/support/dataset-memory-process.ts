import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { type DatasetFormat, exportDataset } from 'hexline/bulk'

/*
 * Exports blocks of the server of the benchmark with the built package, in a process of its own,
 * and sends its resident memory, in MB, every 1,000 blocks, then its peak. Whole files are removed
 * behind it, so that it needs no room for all of them.
 *
 *   tsx dataset-memory-process.ts URL FIRST BLOCKS FORMAT
 */

const [url = '', first, blocks, format] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'hexline-memory-'))
const client = createClient(url)
const samples: number[] = []
const megabytes = (bytes: number) => Math.round(bytes / 1e6)

try {
  await exportDataset(client, {
    from: Number(first),
    to: Number(first) + Number(blocks) - 1,
    dir,
    format: format as DatasetFormat,
    onProgress({ done }) {
      if (done % 1000 !== 0) return
      samples.push(megabytes(process.memoryUsage.rss()))
      for (const table of ['blocks', 'transactions'])
        for (const name of readdirSync(join(dir, table))) if (!name.endsWith('.partial')) rmSync(join(dir, table, name))
    },
  })
  process.send?.({ samples, peak: megabytes(process.resourceUsage().maxRSS * 1024) })
} finally {
  await client.close()
  rmSync(dir, { recursive: true })
  process.disconnect()
}
