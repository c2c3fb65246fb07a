import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { hexline } from '../support/command.ts'

/** Commands that do something, or show others, with the words that lead to them. */
function commandsOf(command: Command, path: readonly string[] = []): (readonly [readonly string[], Command])[] {
  return command.commands.flatMap((below) => {
    const words = [...path, below.name()]
    return [[words, below] as const, ...commandsOf(below, words)]
  })
}

const program = () => {
  const messages = { tell() {}, warn() {}, fail() {}, explain: String }
  return createProgram('0.0.0', messages, { args: [], env: {}, stdout: process.stdout, stderr: process.stderr }, () => {})
}

/**
 * The words after `hexline`, as a shell passes them: without variables before, pipes and
 * redirections after.
 */
function argumentsOf(example: string): string[] {
  const words = [...example.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"]+)+/g)].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'))
  const start = words.indexOf('hexline') + 1
  const end = words.findIndex((word, i) => i >= start && ['|', '>', '>>', '<'].includes(word))
  return words.slice(start, end === -1 ? undefined : end)
}

describe.each(commandsOf(await program()).map(([path]) => path.join(' ')))('hexline %s --help', (name) => {
  const path = name.split(' ')

  it('has at least two examples, each of which is valid', async () => {
    const { stdout } = await hexline([...path, '--help'])
    const examples = (stdout.split('\nExamples:\n')[1] ?? '').split('\n\n')[0]?.match(/^ {2}.*hexline .*$/gm) ?? []
    expect(examples.length).toBeGreaterThanOrEqual(2)
    for (const example of examples) {
      const args = argumentsOf(example)
      expect(args.slice(0, path.length), example).toEqual(path)
      const parsed = await program()
      const parsedBy: string[] = []
      for (const [words, command] of commandsOf(parsed)) command.action(() => void parsedBy.push(words.join(' ')))
      await parsed.parseAsync(args, { from: 'user' })
      expect(parsedBy[0]?.startsWith(name), example).toBe(true)
    }
  })
})
