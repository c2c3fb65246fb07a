import { posix } from 'node:path'
import { isExternal } from './links.ts'

/** The folder of the site for pages that are made when it is built. Not under version control. */
export const MADE = 'reference'

const COPIES = `${MADE}/files`

/**
 * The page of the site that shows a file of the project, both as paths: pages of `docs` stand at
 * the root, copies of all other files below `reference/files`. A folder has a page, too.
 */
export function pageOf(file: string): string {
  const ownPage = /^docs\/((?!api\/).*\.md)$/.exec(file)?.[1]
  return ownPage ?? `${COPIES}/${asPage(file)}`
}

/** The file that a page of the site shows: the reverse of `pageOf`. `page` may lack its `.page`. */
export function fileOf(page: string): string {
  if (!page.startsWith(`${COPIES}/`)) return `docs/${page}`
  return page.slice(COPIES.length + 1).replace(/\.page\.md$/, '')
}

/** What is no Markdown gets a page whose name tells it from Markdown. */
function asPage(file: string): string {
  return file.endsWith('.md') ? file : `${file}.page.md`
}

/** The file that a link leads to, by its path in the project. `file` has the link. */
export function linkedFile(target: string, file: string): string | undefined {
  const [path = ''] = target.split('#')
  if (path === '' || isExternal(target)) return undefined
  return posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '')
}

/**
 * A link of a page of the site, as the site needs it: it has a page for each file that is linked.
 */
export function linkOnSite(target: string, page: string): string {
  const file = linkedFile(target, fileOf(page))
  if (file === undefined || file.startsWith(`docs/${MADE}/`)) return target
  const path = posix.relative(posix.dirname(page), pageOf(file))
  return [path, ...target.split('#').slice(1)].join('#')
}
