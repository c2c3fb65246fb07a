import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnHexline, startHexline } from './command.ts'
import { type DatasetChain, startDatasetChain } from './dataset-chain.ts'

export interface KillBench {
  /**
   * Exports with the command, which is killed `kills` times, at another moment each time: after so
   * many POSTs of the node. Whenever it ends before that, the folder is begun anew. Then it is
   * completed. Returns how often a process was killed, and whether the folder is the one of an
   * export that was left alone.
   */
  run(format: string, kills: number): Promise<{ readonly kills: number; readonly isSame: boolean }>
  close(): Promise<void>
}

const BLOCKS = 400

/** A node, and folders for exports that are killed. */
export async function startKillBench(): Promise<KillBench> {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-dataset-kill-'))
  let onPost = () => {}
  const server: DatasetChain = await startDatasetChain({ head: BLOCKS, gate: () => onPost() })
  const argsFor = (dir: string, format: string) => [
    ...['export', '--rpc', server.url, '--from', '1', '--to', String(BLOCKS), '--out', dir, '--format', format],
    ...['--tables', 'blocks,transactions,receipts,logs,withdrawals', '--blocks-per-file', '20', '--batch', '10', '--quiet'],
  ]

  return {
    async run(format, kills) {
      const left = join(folder, `${format}-left-alone`)
      let posts = 0
      onPost = () => {
        posts++
      }
      const { code, stderr } = await spawnHexline(argsFor(left, format))
      if (code !== 0) throw new Error(stderr)
      const expected = await digestsOf(left)
      const dir = join(folder, `${format}-killed`)
      const most = posts
      let done = 0
      for (let seed = 1; done < kills; seed++) {
        const child = startHexline(argsFor(dir, format))
        // Some kills come with the reply, others in the work after it.
        let until = 1 + ((Math.imul(seed, 2654435761) >>> 0) % most)
        onPost = () => {
          if (--until === 0) setTimeout(() => child.kill('SIGKILL'), seed % 40)
        }
        const ended = await child.ended
        if (ended.code === null) done++
        else if (ended.code !== 0) throw new Error(ended.stderr)
        else await rm(dir, { recursive: true })
      }
      onPost = () => {}
      const last = await spawnHexline(argsFor(dir, format))
      if (last.code !== 0) throw new Error(last.stderr)
      const isSame = JSON.stringify(await digestsOf(dir)) === JSON.stringify(expected)
      return { kills: done, isSame }
    },
    async close() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** All files of a folder with their digests, by name. */
export async function digestsOf(dir: string): Promise<Record<string, string>> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
  const entries = await Promise.all(
    files.map(async (file) => [
      file.slice(dir.length + 1),
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ]),
  )
  return Object.fromEntries(entries.sort())
}
