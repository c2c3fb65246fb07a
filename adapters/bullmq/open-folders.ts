import type { Client } from '../../src/client/client.ts'
import { type OpenParts, openParts } from '../../src/dataset/export/open-parts.ts'
import { exportJobOf, idOf, type RangeJobData } from './export-jobs.ts'

/** The folders that a worker writes to: one for each export and end of it, opened once. */
export class OpenFolders {
  readonly #client: Client
  readonly #dir: string | undefined
  readonly #folders = new Map<string, Promise<OpenParts>>()

  /** `dir` is where the folder is on this machine, if elsewhere than the export says. */
  constructor(client: Client, dir: string | undefined) {
    this.#client = client
    this.#dir = dir
  }

  /** The folder of a range. One that has been taken for dead is opened anew. */
  async open(data: RangeJobData): Promise<OpenParts> {
    const id = `${idOf(data.export)}-${data.export.to}`
    const there = this.#folders.get(id)
    if (there !== undefined) {
      const parts = await there
      if (await parts.isOpen()) return parts
      await parts.close()
      // Another range has opened it meanwhile.
      if (this.#folders.get(id) !== there) return this.open(data)
    }
    const opening = openParts(this.#client, exportJobOf(data.export, this.#dir))
    this.#folders.set(id, opening)
    // The next range tries again.
    opening.catch(() => this.#folders.delete(id))
    return opening
  }

  async close(): Promise<void> {
    for (const opening of this.#folders.values()) await opening.then((parts) => parts.close()).catch(() => {})
  }
}
