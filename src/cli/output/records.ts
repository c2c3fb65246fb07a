import type { Page, Paged } from '../../rest/index.ts'
import { harmlessText, shellWord } from '../../text.ts'
import { type TextStream, widthOf } from './io.ts'
import { toJson } from './json.ts'
import type { Messages } from './messages.ts'
import { print } from './print.ts'
import { type Column, table } from './table.ts'
import { countOf } from './units.ts'

/** How a list is printed. */
export interface ListFlags {
  readonly json?: boolean | undefined
  readonly all?: boolean | undefined
}

/**
 * Prints one page of a list, or all pages: a table for each page, or a line of JSON for each
 * record.
 */
export async function printList<P extends Page<unknown>>(
  stdout: TextStream,
  list: Paged<P>,
  columns: readonly Column<P['result'][number]>[],
  flags: ListFlags,
  messages: Messages,
): Promise<void> {
  const ending = await print(stdout, async (write): Promise<Parameters<Messages['tell']>> => {
    let records = 0
    for await (const page of list.pages()) {
      records += page.result.length
      if (flags.json) for (const record of page.result) await write(`${toJson(record)}\n`)
      else if (page.result.length > 0) await write(`${table(columns, page.result, widthOf(stdout))}\n`)
      if (flags.all || page.cursor === null) continue
      const sentence = `${countOf(records, 'record')}; for more, use --all or --cursor ${shellWord(harmlessText(page.cursor))}`
      return [sentence, { type: 'more', records, cursor: page.cursor }]
    }
    return [countOf(records, 'record'), { type: 'done', records }]
  })
  // Not before: a stream may hold the last table back until all is written.
  if (ending !== undefined) messages.tell(...ending)
}
