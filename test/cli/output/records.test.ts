import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { messagesFor } from '../../../src/cli/output/messages.ts'
import { type ListFlags, printList } from '../../../src/cli/output/records.ts'
import { type Page, Paged } from '../../../src/rest/pages.ts'

/** A stream that collects what is written; several with the same `chunks` are one terminal. */
function gathered(chunks: string[] = []) {
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return { stream, text: () => chunks.join('') }
}

/** The output for pages of ids, and the number of pages requested. */
async function printed(pages: readonly (readonly bigint[])[], flags: ListFlags, cursorOf = (page: number) => `p${page}`) {
  let asked = 0
  const list = new Paged<Page<{ id: bigint }>>('getStreams', undefined, async () => {
    const result = (pages[asked++] ?? []).map((id) => ({ id }))
    return { result, cursor: asked < pages.length ? cursorOf(asked) : null }
  })
  const [stdout, stderr] = [gathered(), gathered()]
  await printList(
    stdout.stream,
    list,
    [{ title: 'Id', of: ({ id }) => id }],
    flags,
    messagesFor({ ...(flags.json && { json: true }) }, { stderr: stderr.stream, args: [] }),
  )
  return { stdout: stdout.text(), stderr: stderr.text(), asked }
}

it('one page is a table, with a hint for more', async () => {
  expect(await printed([[1n, 2n], [3n]], {})).toEqual({ stdout: 'Id\n1\n2\n', stderr: '2 records; for more, use --all or --cursor p1\n', asked: 1 })
})

it('all pages are a table each', async () => {
  expect(await printed([[1n], [], [3n]], { all: true })).toEqual({ stdout: 'Id\n1\nId\n3\n', stderr: '2 records\n', asked: 3 })
})

it('the number of records follows the last table, also where both go to one terminal', async () => {
  const terminal: string[] = []
  const [stdout, stderr] = [gathered(terminal), gathered(terminal)]
  const list = new Paged<Page<{ id: bigint }>>('getStreams', undefined, async () => ({ result: [{ id: 1n }], cursor: null }))
  await printList(stdout.stream, list, [{ title: 'Id', of: ({ id }) => id }], {}, messagesFor({}, { stderr: stderr.stream, args: [] }))
  expect(terminal.join('')).toBe('Id\n1\n1 record\n')
})

it('with --json each record is a line', async () => {
  expect(await printed([[1n, 2n], [3n]], { json: true })).toEqual({
    stdout: '{"id":"1"}\n{"id":"2"}\n',
    stderr: '{"type":"more","records":2,"cursor":"p1"}\n',
    asked: 1,
  })
  expect((await printed([[5n]], { json: true })).stderr).toBe('{"type":"done","records":1}\n')
})

it('a cursor is quoted for the shell if needed', async () => {
  expect((await printed([[1n], []], {}, () => "it's $(x)\u001b")).stderr).toBe("1 record; for more, use --all or --cursor 'it'\\''s $(x) '\n")
})
