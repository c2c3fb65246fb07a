import type { Page, Paged } from '../rest/index.ts'
import { bigintsAsStrings } from './json.ts'
import type { Messages } from './messages.ts'
import type { ServiceFlags } from './service.ts'
import { type Column, table } from './table.ts'

/** Prints a page of a list, or all of them: a table a page, or one line of JSON a record. */
export async function printList<P extends Page<unknown>>(
  list: Paged<P>,
  columns: readonly Column<P['result'][number]>[],
  flags: ServiceFlags,
  messages: Messages,
  out: NodeJS.WriteStream,
): Promise<void> {
  let records = 0
  for await (const page of list.pages()) {
    records += page.result.length
    if (flags.json) for (const record of page.result) await write(out, `${JSON.stringify(record, bigintsAsStrings)}\n`)
    else if (page.result.length > 0) await write(out, `${table(columns, page.result, out.isTTY)}\n`)
    if (flags.all || page.cursor === null) continue
    messages.tell(`${records} records; there are more: --all, or --cursor ${page.cursor}`, { type: 'more', records, cursor: page.cursor })
    return
  }
  messages.tell(`${records} records`, { type: 'done', records })
}

/** Waits where the reader is slow: a list may be long. */
function write(out: NodeJS.WriteStream, text: string): Promise<void> | void {
  if (!out.write(text)) return new Promise((resolve) => out.once('drain', resolve))
}
