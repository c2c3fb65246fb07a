import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

/** A regular expression in the source code, and the file it is in. */
export interface Found {
  readonly file: string
  readonly pattern: RegExp
}

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Every regular expression literal of the sources, and the files that build regular expressions
 * from strings.
 */
export function patternsOf(...folders: string[]): { literals: Found[]; built: string[] } {
  const literals: Found[] = []
  const built: string[] = []
  for (const folder of folders) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (!name.endsWith('.ts')) continue
      const file = `${folder}/${name}`
      const walk = (node: unknown): void => {
        if (typeof node !== 'object' || node === null) return
        const { type, regex, callee } = node as { type?: string; regex?: { pattern: string; flags: string } | null; callee?: { name?: string } }
        if (type === 'Literal' && regex) literals.push({ file, pattern: new RegExp(regex.pattern, regex.flags) })
        if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') built.push(file)
        for (const child of Object.values(node)) walk(child)
      }
      walk(parseAst(readFileSync(join(root, file), 'utf8'), { lang: 'ts' }, file))
    }
  }
  return { literals, built }
}

/**
 * What a hostile server could repeat: classes of characters, and prefixes of what the patterns
 * match.
 */
export const CLASSES = [
  '1',
  '0',
  '1,',
  '1.',
  '1-',
  'a',
  'a1',
  '1a',
  ' ',
  '\t',
  '\n',
  ', ',
  '\\',
  '\\"',
  '%25',
  '%',
  '&amp;',
  '&#0',
  '/',
  '"',
  ':',
  '-',
  '_',
  'é',
  '[0x1, ',
]

/**
 * The literal words of a pattern, alone and combined, and followed by characters of its classes.
 */
export function wordsOf({ source }: RegExp): string[] {
  const plain = source.replace(/\\[bBdDwWsS]|\(\?(?:[:=!]|<[=!])|\[\^?(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}/g, '\0').replace(/\\(.)/g, '$1')
  const words = [...new Set(plain.split(/[\0()|?*+^$]+/).filter((word) => word !== ''))]
  const first = words[0] ?? 'a'
  const together = words.length > 1 ? [words.join(''), words.join(' ')] : []
  return [...words, ...words.flatMap((word) => [`${word} `, `${word} 1,1 `]), ...together, `${first}1`, `${first} 1`]
}
