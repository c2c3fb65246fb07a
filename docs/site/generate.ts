import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { linksOf } from './links.ts'
import { linkedFile, MADE, pageOf } from './places.ts'
import { referenceOf } from './reference.ts'

/*
 * Makes the pages of the site that are not under version control: the reference of the API, from
 * the declarations in `dist`, and copies of all files of the project that pages link to. The site
 * is whole without the project, then, and links to sources need no other site.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = `${root}docs/`

rmSync(`${docs}${MADE}`, { recursive: true, force: true })

const { pages, undocumented } = referenceOf(`${root}dist/`)
if (undocumented.length > 0) throw new Error(`no docstring: ${undocumented.join(', ')}`)
for (const [entry, text] of Object.entries(pages)) write(`${MADE}/${entry}.md`, text)

const done = new Set<string>()
const waiting = readdirSync(docs).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))
// The sidebar has these.
waiting.push('CHANGELOG.md', 'bench/README.md')
for (const file of waiting) {
  if (done.has(file)) continue
  done.add(file)
  const page = pageOf(file)
  if (!page.startsWith(`${MADE}/`)) waiting.push(...linkedFrom(file))
  else if (file.endsWith('.md')) {
    write(page, readFileSync(root + file, 'utf8'))
    copyImages(file, page)
    waiting.push(...linkedFrom(file))
  } else write(page, statSync(root + file).isDirectory() ? listing(file) : shown(file))
}

/** The files that a page links to, but for images. */
function linkedFrom(file: string): string[] {
  const links = linksOf(readFileSync(root + file, 'utf8'))
  return links.flatMap(({ target, isImage }) => (isImage ? [] : (linkedFile(target, file) ?? [])))
}

/** Copies the images of a page beside its copy. */
function copyImages(file: string, page: string): void {
  for (const { target, isImage } of linksOf(readFileSync(root + file, 'utf8'))) {
    const image = isImage ? linkedFile(target, file) : undefined
    if (image !== undefined) write(`${dirname(page)}/${target}`, readFileSync(root + image))
  }
}

function shown(file: string): string {
  const text = readFileSync(root + file, 'utf8')
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const ticks = '`'.repeat(Math.max(3, longest + 1))
  return `# ${file}\n\n${ticks}${extname(file).slice(1)}\n${text.trimEnd()}\n${ticks}\n`
}

function listing(folder: string): string {
  const [, name] = /([^/]*)$/.exec(folder) as RegExpExecArray
  const files = readdirSync(root + folder, { withFileTypes: true }).filter((each) => each.isFile())
  waiting.push(...files.map((each) => `${folder}/${each.name}`))
  return `# ${folder}\n\n${files.map((each) => `- [${each.name}](${name}/${each.name})`).join('\n')}\n`
}

function write(page: string, text: string | Buffer): void {
  mkdirSync(dirname(docs + page), { recursive: true })
  writeFileSync(docs + page, text)
}
